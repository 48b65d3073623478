// Clusters and their nodes.
#include <fmt/format.h>

#include "compute/cluster_store.h"
#include "data/credentials.h"
#include "routes/request.h"
#include "routes/services.h"

namespace slipway::routes {
namespace {

using compute::ClusterKey;
using compute::ClusterSpec;
using http::Access;
using http::Method;
using http::Request;
using http::Response;

ClusterKey key_of(const Request& request) {
  return {workspace_of(request), ClusterName(request.param("cluster"))};
}

json::object describe(Services& services, const ClusterSpec& spec) {
  compute::NodeSize size = compute::node_size(spec, services.orchestrator.machine());
  const auto status = services.orchestrator.engine_status(spec.key());
  if (status && status->nodes) size.capacity = status->nodes->largest;
  json::object cluster = compute::to_json(spec, size, services.nodes.counts(spec.key()),
                                          services.orchestrator.queued_runs(spec.key()));
  if (status) cluster["engine_status"] = compute::to_json(*status);
  return cluster;
}

// Within the transaction that makes or changes the cluster.
Status seal_token(Services& services, store::Writer& writer, const compute::ClusterRequest& request,
                  const ClusterKey& key) {
  if (!request.token) return {};
  if (request.token->empty()) return compute::set_cluster_token(writer, key, std::nullopt);
  SLIPWAY_ASSIGN(std::string sealed, data::Seal(std::filesystem::path(services.home) / "secrets.key")
                                         .close(*request.token, cluster_seal(key)));
  return compute::set_cluster_token(writer, key, std::move(sealed));
}

Result<ClusterSpec> cluster_of(Services& services, const Request& request) {
  ClusterSpec spec;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(spec, compute::find_cluster(reader, key_of(request)));
    return {};
  }));
  return spec;
}

Result<Response> list(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  SLIPWAY_ASSIGN(const std::string after, name_cursor_of(request));
  std::vector<ClusterSpec> found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(found,
                   compute::list_clusters(reader, workspace_of(request), after, static_cast<size_t>(limit)));
    return {};
  }));
  json::array items;
  for (const ClusterSpec& spec : found) items.push_back(describe(services, spec));
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) == limit) next = found.back().name.str();
  return page(std::move(items), next);
}

Result<Response> create(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the cluster"));
  SLIPWAY_ASSIGN(compute::ClusterRequest made_from, compute::cluster_spec_from_json(body));
  ClusterSpec& spec = made_from.spec;
  SLIPWAY_ASSIGN(const auto key, request_key(request, workspace_of(request).str()));
  spec.workspace = workspace_of(request);
  spec.created_at = services.clock.now();
  bool repeated = false;
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const auto made, store::find_made(writer, key));
    repeated = made.has_value();
    if (repeated) {
      SLIPWAY_ASSIGN(spec, compute::find_cluster(writer, spec.key()));
      return {};
    }
    SLIPWAY_TRY(compute::insert_cluster(writer, spec));
    SLIPWAY_TRY(seal_token(services, writer, made_from, spec.key()));
    return store::remember_made(writer, key, spec.name.str(), spec.created_at);
  }));
  if (!repeated) services.orchestrator.cluster_changed(spec);
  return http::json_response(describe(services, spec), repeated ? 200 : 201);
}

Result<Response> show(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const ClusterSpec spec, cluster_of(services, request));
  return http::json_response(describe(services, spec));
}

Result<Response> change(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the change"));
  ClusterSpec spec;
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(ClusterSpec before, compute::find_cluster(writer, key_of(request)));
    SLIPWAY_ASSIGN(const compute::ClusterRequest changed, compute::patched(std::move(before), body));
    spec = changed.spec;
    SLIPWAY_TRY(compute::update_cluster(writer, spec));
    return seal_token(services, writer, changed, spec.key());
  }));
  services.orchestrator.cluster_changed(spec);
  return http::json_response(describe(services, spec));
}

// A cluster with work is not deleted. Its row goes at once, its idle nodes follow.
Result<Response> remove(Services& services, const Request& request) {
  const ClusterKey key = key_of(request);
  SLIPWAY_TRY(cluster_of(services, request));
  const auto counts = services.nodes.counts(key);
  const size_t queued = services.orchestrator.queued_runs(key);
  if (counts.busy > 0 || queued > 0)
    return fail(
        ErrorCode::kConflict,
        fmt::format("cluster '{}' has {} busy nodes and {} waiting runs", key.name, counts.busy, queued),
        "cancel them or wait for them, then delete it");
  // Only its engine can tell that nothing of them is left there.
  if (services.orchestrator.engine_status(key) && !services.nodes.list(key).empty())
    return fail(ErrorCode::kConflict,
                fmt::format("nodes of cluster '{}' are still being given back", key.name),
                "try again in a few seconds");
  SLIPWAY_TRY(
      services.database.write([&](store::Writer& writer) { return compute::delete_cluster(writer, key); }));
  services.orchestrator.let_cluster_go(key);
  return http::empty_response();
}

Result<Response> nodes(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const ClusterSpec spec, cluster_of(services, request));
  json::array items;
  for (const compute::NodeInfo& node : services.nodes.list(spec.key()))
    items.push_back(compute::to_json(node));
  return page(std::move(items));
}

// A machine of somebody's own becomes a node. Its token is shown this once.
Result<Response> join(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const ClusterSpec spec, cluster_of(services, request));
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the node"));
  std::string name;
  JsonFields fields(body, "the node");
  fields.optional("name", name);
  SLIPWAY_TRY(fields.finish());
  compute::NodeRecord node;
  node.id = name.empty() ? compute::new_node_id(spec.name) : NodeId(name);
  SLIPWAY_TRY(check_name(node.id.str(), "node"));
  node.cluster = spec.key();
  node.created_at = services.clock.now();
  node.joined = true;
  SLIPWAY_ASSIGN(const Secret token, services.orchestrator.add_joined_node(node));
  return http::json_response(json::object{{"node", node.id.str()}, {"token", token.reveal()}}, 201);
}

Result<Response> leave(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const ClusterSpec spec, cluster_of(services, request));
  const NodeId node = node_of(request);
  const auto info = services.nodes.find(node);
  if (!info || info->record.cluster != spec.key())
    return fail(ErrorCode::kNotFound, fmt::format("cluster '{}' has no node '{}'", spec.name, node),
                fmt::format("slipway compute nodes {} shows what it has", spec.name));
  SLIPWAY_TRY(services.orchestrator.let_node_go(node));
  return http::empty_response();
}

}  // namespace

std::string cluster_seal(const ClusterKey& key) {
  return fmt::format("cluster {}/{}", key.workspace, key.name);
}

std::vector<RouteRow> compute_routes() {
  const std::string compute = "/api/v1/workspaces/{workspace}/compute";
  return {
      {Method::kGet, compute, Access::kReader, list},
      {Method::kPost, compute, Access::kOwner, create},
      {Method::kGet, compute + "/{cluster}", Access::kReader, show},
      {Method::kPatch, compute + "/{cluster}", Access::kOwner, change},
      {Method::kDelete, compute + "/{cluster}", Access::kOwner, remove},
      {Method::kGet, compute + "/{cluster}/nodes", Access::kReader, nodes},
      {Method::kPost, compute + "/{cluster}/nodes", Access::kOwner, join},
      {Method::kDelete, compute + "/{cluster}/nodes/{node}", Access::kOwner, leave},
  };
}

}  // namespace slipway::routes

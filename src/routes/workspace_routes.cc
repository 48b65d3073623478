// Workspaces and experiments.
#include <fmt/format.h>

#include "compute/cluster_store.h"
#include "environments/environment_store.h"
#include "routes/request.h"
#include "routes/services.h"
#include "runs/workspace.h"

namespace slipway::routes {
namespace {

using http::Access;
using http::Method;
using http::Request;
using http::Response;

// Of those the caller may see.
Result<Response> list(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  SLIPWAY_ASSIGN(const std::string after, name_cursor_of(request));
  std::vector<runs::Workspace> found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(found, runs::list_workspaces(reader, after, limit));
    return {};
  }));
  json::array items;
  for (const runs::Workspace& workspace : found)
    if (!request.caller.workspace || *request.caller.workspace == workspace.name)
      items.push_back(runs::to_json(workspace));
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) == limit) next = found.back().name.str();
  return page(std::move(items), next);
}

Result<Response> create(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the workspace"));
  std::string name;
  runs::Workspace workspace;
  JsonFields fields(body, "the workspace");
  fields.required("name", name);
  fields.optional("description", workspace.description);
  SLIPWAY_TRY(fields.finish());
  SLIPWAY_ASSIGN(workspace.name, parse_name<WorkspaceName>(name, "workspace", 33));
  SLIPWAY_ASSIGN(const auto key, request_key(request, ""));
  workspace.created_at = services.clock.now();
  const auto local = compute::local_cluster(workspace.name, workspace.created_at);
  bool repeated = false;
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const auto made, store::find_made(writer, key));
    repeated = made.has_value();
    if (repeated) {
      SLIPWAY_ASSIGN(workspace, runs::load_workspace(writer, workspace.name));
      return {};
    }
    SLIPWAY_TRY(runs::insert_workspace(writer, workspace));
    SLIPWAY_TRY(compute::insert_cluster(writer, local));
    return store::remember_made(writer, key, workspace.name.str(), workspace.created_at);
  }));
  if (!repeated) services.orchestrator.cluster_changed(local);
  return http::json_response(runs::to_json(workspace), repeated ? 200 : 201);
}

Result<Response> show(Services& services, const Request& request) {
  runs::Workspace workspace;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(workspace, runs::load_workspace(reader, workspace_of(request)));
    return {};
  }));
  return http::json_response(runs::to_json(workspace));
}

Result<Response> remove(Services& services, const Request& request) {
  const WorkspaceName name = workspace_of(request);
  SLIPWAY_TRY(services.deployments.clear(name));
  std::vector<compute::ClusterSpec> clusters;
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(clusters, compute::list_clusters(writer, name));
    SLIPWAY_TRY(runs::delete_workspace(writer, name));
    SLIPWAY_TRY(environments::delete_environments_of(writer, name));
    return compute::delete_clusters_of(writer, name);
  }));
  for (const compute::ClusterSpec& cluster : clusters) services.orchestrator.let_cluster_go(cluster.key());
  return http::empty_response();
}

Result<Response> experiments(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  SLIPWAY_ASSIGN(const std::string after, name_cursor_of(request));
  std::vector<runs::Experiment> found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_TRY(runs::load_workspace(reader, workspace_of(request)));
    SLIPWAY_ASSIGN(found, runs::list_experiments(reader, workspace_of(request), after, limit));
    return {};
  }));
  json::array items;
  for (const runs::Experiment& experiment : found) items.push_back(runs::to_json(experiment));
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) == limit) next = found.back().name.str();
  return page(std::move(items), next);
}

Result<Response> experiment(Services& services, const Request& request) {
  runs::Experiment found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(found, runs::load_experiment(reader, workspace_of(request),
                                                ExperimentName(request.param("experiment"))));
    return {};
  }));
  return http::json_response(runs::to_json(found));
}

}  // namespace

std::vector<RouteRow> workspace_routes() {
  const std::string workspaces = "/api/v1/workspaces";
  return {
      {Method::kGet, workspaces, Access::kReader, list},
      {Method::kPost, workspaces, Access::kAdmin, create},
      {Method::kGet, workspaces + "/{workspace}", Access::kReader, show},
      {Method::kDelete, workspaces + "/{workspace}", Access::kAdmin, remove},
      {Method::kGet, workspaces + "/{workspace}/experiments", Access::kReader, experiments},
      {Method::kGet, workspaces + "/{workspace}/experiments/{experiment}", Access::kReader, experiment},
  };
}

}  // namespace slipway::routes

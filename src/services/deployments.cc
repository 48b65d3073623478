#include "services/deployments.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/cluster_store.h"
#include "services/keys.h"
#include "services/servable.h"
#include "services/service_table.h"

namespace slipway::services {
namespace {

constexpr Duration kNodeKept = std::chrono::minutes(10);  // after the last replica has gone

ServiceSpec spec_of(const Service& service, ReplicaSpec replica) {
  return {.description = service.description,
          .tags = service.tags,
          .auth = service.auth,
          .scaling = service.scaling,
          .replica = std::move(replica),
          .resources_named = true};
}

void take_settings(Service& service, const ServiceSpec& spec) {
  service.description = spec.description;
  service.tags = spec.tags;
  service.auth = spec.auth;
  service.scaling = spec.scaling;
  service.wanted = std::clamp(service.wanted, spec.scaling.min, spec.scaling.max);
}

std::string models_text(const ReplicaSpec& spec) {
  return spec.models.empty() ? spec.entry : fmt::format("{}", fmt::join(spec.models, ", "));
}

Error name_taken(const std::string& name) {
  return {.code = ErrorCode::kConflict,
          .message = fmt::format("there is a service '{}' already", name),
          .next = fmt::format(
              "change it: slipway service update {} --model MODEL, or deploy with --overwrite", name),
          .detail = ""};
}

}  // namespace

Result<Service> Deployments::find(const WorkspaceName& workspace, const std::string& name) {
  Service service;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(service, load_service(reader, workspace, name));
    return {};
  }));
  return service;
}

Status Deployments::provide_cluster(const WorkspaceName& workspace, const ReplicaSpec& spec) const {
  compute::ClusterSpec cluster;
  cluster.workspace = workspace;
  cluster.name = ClusterName(std::string(kServicesCluster));
  cluster.idle = kNodeKept;
  cluster.created_at = clock_.now();
  if (spec.compute != cluster.name || orchestrator_.cluster_view(cluster.key())) return {};
  const Status made =
      database_.write([&](store::Writer& writer) { return compute::insert_cluster(writer, cluster); });
  if (!made && made.error().code != ErrorCode::kConflict) return made;
  if (made) orchestrator_.cluster_changed(cluster);
  return {};
}

Status Deployments::resolve(const Service& service, ServiceSpec& spec) const {
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) {
    return make_servable(reader, service.workspace, spec.replica, spec.resources_named);
  }));
  SLIPWAY_TRY(provide_cluster(service.workspace, spec.replica));
  SLIPWAY_ASSIGN(const Job job, submissions_.check(service.workspace, replica_job(service, spec.replica)));
  spec.replica.environment = job.environment;
  return {};
}

Result<ServiceSpec> Deployments::present_spec(store::Reader& reader, const Service& service) const {
  SLIPWAY_ASSIGN(const auto revisions, list_revisions(reader, service.seq));
  if (revisions.empty()) return fail(ErrorCode::kInternal, "the service has no version");
  // What failed to load is not what a change begins from, while something else serves.
  const Revision* base = &revisions.back();
  if (base->state == RevisionState::kFailed && service.revision > 0)
    base = &*std::ranges::find(revisions, service.revision, &Revision::number);
  return spec_of(service, base->spec);
}

Result<Deployed> Deployments::deploy(const WorkspaceName& workspace, const json::object& body,
                                     const store::RequestKey& request, const std::string& caller) {
  Service service;
  service.workspace = workspace;
  bool overwrite = false;
  JsonFields fields(body, "the service");
  fields.required("name", service.name);
  fields.optional("overwrite", overwrite);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_TRY(check_service_name(service.name));
  ServiceSpec spec;
  SLIPWAY_TRY(apply(body, spec));
  SLIPWAY_TRY(resolve(service, spec));
  Deployed result;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    result = {};
    SLIPWAY_ASSIGN(const auto made, store::find_made(writer, request));
    SLIPWAY_ASSIGN(const auto known, find_service(writer, service.name));
    if (made && known) {
      result.service = *known;
      return {};
    }
    if (known) {
      if (!overwrite || known->workspace != workspace) return fail(name_taken(service.name));
      result.service = *known;
      SLIPWAY_ASSIGN(const ServiceSpec before, present_spec(writer, *known));
      SLIPWAY_TRY(change_within(writer, result.service, spec, before.replica, caller));
      return store::remember_made(writer, request, service.name, clock_.now());
    }
    Service& fresh = result.service;
    fresh = service;
    fresh.created_by = caller;
    fresh.created_at = fresh.changed_at = clock_.now();
    take_settings(fresh, spec);
    fresh.wanted = spec.scaling.min;
    SLIPWAY_TRY(insert_service(writer, fresh));
    SLIPWAY_ASSIGN(fresh.primary_key, seal_.close(new_key(), key_purpose(fresh)));
    SLIPWAY_ASSIGN(fresh.secondary_key, seal_.close(new_key(), key_purpose(fresh)));
    SLIPWAY_TRY(add_revision(writer, fresh, spec.replica));
    SLIPWAY_TRY(record(writer, fresh, EventKind::kDeployed,
                       fmt::format("{} deployed by {}", models_text(spec.replica), caller), clock_.now()));
    result.created = true;
    return store::remember_made(writer, request, service.name, clock_.now());
  }));
  controller_.wake(result.service.seq);
  return result;
}

Status Deployments::add_revision(store::Writer& writer, Service& service, const ReplicaSpec& spec) const {
  SLIPWAY_ASSIGN(auto revisions, list_revisions(writer, service.seq));
  for (Revision& other : revisions) {
    if (other.state != RevisionState::kLoading) continue;
    other.state = RevisionState::kSuperseded;
    other.reason = "a newer version was asked for before it was loaded";
    SLIPWAY_TRY(update_revision(writer, other));
  }
  Revision revision;
  revision.service = service.seq;
  revision.number = ++service.last_revision;
  revision.spec = spec;
  revision.created_at = clock_.now();
  SLIPWAY_TRY(insert_revision(writer, revision));
  revisions.push_back(std::move(revision));
  return hold_models(writer, service, revisions, clock_.now());
}

Status Deployments::change_within(store::Writer& writer, Service& service, const ServiceSpec& spec,
                                  const ReplicaSpec& before, const std::string& caller) const {
  take_settings(service, spec);
  if (spec.replica == before && service.state != ServiceState::kFailed)
    return record(writer, service, EventKind::kChanged, fmt::format("changed by {}", caller), clock_.now());
  SLIPWAY_TRY(add_revision(writer, service, spec.replica));
  return record(writer, service, EventKind::kUpdated,
                fmt::format("version {}, {}, asked for by {}", service.last_revision,
                            models_text(spec.replica), caller),
                clock_.now());
}

Result<Service> Deployments::change(const WorkspaceName& workspace, const std::string& name,
                                    const json::object& body, const std::string& caller) {
  SLIPWAY_ASSIGN(const Service known, find(workspace, name));
  ServiceSpec spec;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(spec, present_spec(reader, known));
    return {};
  }));
  const ReplicaSpec before = spec.replica;
  // The environment that was chosen for the old models need not fit the new ones.
  if (body.contains("models") && spec.replica.environment_chosen) spec.replica.environment.clear();
  spec.replica.environment_chosen = spec.replica.environment_chosen && !body.contains("environment");
  SLIPWAY_TRY(apply(body, spec));
  if (!(spec.replica == before)) SLIPWAY_TRY(resolve(known, spec));
  Service service;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(service, load_service(writer, workspace, name));
    return change_within(writer, service, spec, before, caller);
  }));
  controller_.wake(service.seq);
  return service;
}

Status Deployments::remove(const WorkspaceName& workspace, const std::string& name,
                           const std::string& caller) {
  Service service;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(service, load_service(writer, workspace, name));
    service.deleted_at = clock_.now();
    SLIPWAY_TRY(release_models(writer, service));
    return record(writer, service, EventKind::kDeleted, fmt::format("deleted by {}", caller), clock_.now());
  }));
  door_.remove(name);
  controller_.wake(service.seq);
  return {};
}

Result<Deployments::Keys> Deployments::keys(const WorkspaceName& workspace, const std::string& name) {
  SLIPWAY_ASSIGN(const Service service, find(workspace, name));
  Keys keys;
  SLIPWAY_ASSIGN(keys.primary, seal_.open(service.primary_key, key_purpose(service)));
  SLIPWAY_ASSIGN(keys.secondary, seal_.open(service.secondary_key, key_purpose(service)));
  return keys;
}

Result<Deployments::Keys> Deployments::renew_key(const WorkspaceName& workspace, const std::string& name,
                                                 WhichKey which, const std::string& caller) {
  int64_t seq = 0;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(Service service, load_service(writer, workspace, name));
    seq = service.seq;
    std::string& key = which == WhichKey::kPrimary ? service.primary_key : service.secondary_key;
    SLIPWAY_ASSIGN(key, seal_.close(new_key(), key_purpose(service)));
    return record(
        writer, service, EventKind::kChanged,
        fmt::format("{} key made anew by {}", which == WhichKey::kPrimary ? "primary" : "secondary", caller),
        clock_.now());
  }));
  controller_.wake(seq);
  return keys(workspace, name);
}

Result<Deployments::Token> Deployments::token(const WorkspaceName& workspace, const std::string& name,
                                              Duration lifetime) {
  SLIPWAY_ASSIGN(const Service service, find(workspace, name));
  if (service.auth != Auth::kToken)
    return fail(ErrorCode::kConflict,
                fmt::format("service '{}' asks for {}, not for tokens", name,
                            service.auth == Auth::kKey ? "one of its keys" : "nothing"),
                fmt::format("slipway service keys {}, or update it with --auth token", name));
  SLIPWAY_ASSIGN(const Keys known, keys(workspace, name));
  const Timestamp expires{clock_.now().micros + lifetime.count()};
  return Token{.text = make_token(known.primary, expires), .expires = expires};
}

Result<json::object> Deployments::describe(const Service& service) {
  std::vector<Revision> revisions;
  std::vector<Replica> replicas;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(revisions, list_revisions(reader, service.seq));
    SLIPWAY_ASSIGN(replicas, list_replicas(reader, service.seq, true));
    return {};
  }));
  return shown(service, revisions, replicas, door_);
}

}  // namespace slipway::services

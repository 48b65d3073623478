#include "services/servable.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/environment.h"
#include "models/lineage.h"
#include "models/model_table.h"
#include "protocol/model.h"

namespace slipway::services {
namespace {

constexpr size_t kEndedShown = 5;

std::string holder_of(const Service& service) {
  return "service/" + service.name;
}

Status check_no_code(const models::ModelVersion& model) {
  const std::string name = to_text(models::reference_of(model));
  if (model.framework == ModelFramework::kCustom)
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("model '{}' has the framework custom: nothing but a script of yours can serve it", name),
        "give one with --entry score.py --source DIR --env NAME, or register the model with the framework "
        "it was made with (--framework onnx, tensorflow, keras, pytorch, scikit-learn)");
  if (model.trial.state == models::Trial::State::kDone && model.trial.serves == false)
    return fail(
        ErrorCode::kInvalidArgument, fmt::format("model '{}' does not serve: {}", name, model.trial.reason),
        "register a version that does, or give a script that serves it: --entry score.py --source DIR");
  return {};
}

// What a replica usually needs, where nobody says it.
Resources usual_resources(const std::vector<models::ModelVersion>& found) {
  uint64_t memory = 1ULL << 30;
  if (found.size() == 1) switch (found.front().framework) {
      case ModelFramework::kOnnx: memory = 512ULL << 20; break;
      case ModelFramework::kTensorflow:
      case ModelFramework::kKeras:
      case ModelFramework::kPytorch: memory = 2ULL << 30; break;
      default: break;
    }
  return {.cpus = 0.5, .memory_bytes = memory, .gpus = 0};
}

// What the model says it needs stands before the default.
void take_resources(const Resources& needs, Resources& resources) {
  if (needs.cpus > 0) resources.cpus = needs.cpus;
  if (needs.memory_bytes > 0) resources.memory_bytes = needs.memory_bytes;
  if (needs.gpus > 0) resources.gpus = needs.gpus;
}

json::array shown_replicas(const std::vector<Replica>& replicas, const FrontDoor& door) {
  json::array list;
  const auto ended = static_cast<size_t>(std::ranges::count(replicas, ReplicaState::kEnded, &Replica::state));
  size_t passed_over = 0;
  for (const Replica& replica : replicas) {
    if (replica.state == ReplicaState::kEnded && passed_over++ + kEndedShown < ended) continue;
    json::object object{{"number", replica.number},
                        {"version", replica.revision},
                        {"run", replica.run ? json::value(replica.run->str()) : json::value()},
                        {"state", to_text(replica.state)},
                        {"endpoint", replica.endpoint},
                        {"reason", replica.reason},
                        {"created_at", to_iso8601(replica.created_at)},
                        {"requests_under_way", door.under_way(replica.number)}};
    if (replica.ready_at) object["ready_at"] = to_iso8601(*replica.ready_at);
    if (replica.ended_at) object["ended_at"] = to_iso8601(*replica.ended_at);
    list.push_back(std::move(object));
  }
  return list;
}

json::object shown_traffic(const Traffic& traffic) {
  const double mean =
      traffic.requests == 0 ? 0 : traffic.seconds / static_cast<double>(traffic.requests) * 1000;
  return {{"under_way", traffic.under_way},
          {"requests", traffic.requests},
          {"failures", traffic.failures},
          {"mean_ms", json_number(mean)}};
}

}  // namespace

Status make_servable(store::Reader& reader, const WorkspaceName& workspace, ReplicaSpec& spec,
                     bool resources_named) {
  std::vector<models::ModelVersion> found;
  for (std::string& text : spec.models) {
    SLIPWAY_ASSIGN(const ModelReference reference, parse_model_reference(text));
    SLIPWAY_ASSIGN(models::ModelVersion model, models::load_model(reader, workspace, reference));
    text = to_text(models::reference_of(model));
    found.push_back(std::move(model));
  }
  if (spec.entry.empty()) {
    if (found.size() != 1)
      return fail(ErrorCode::kInvalidArgument,
                  found.empty() ? "a service needs a model, or a script that serves without one"
                                : "several models are served by a script of yours only",
                  "name one model, or give a script: --entry score.py --source DIR --env NAME");
    SLIPWAY_TRY(check_no_code(found.front()));
  }
  if (spec.environment.empty() && !found.empty() && found.front().framework != ModelFramework::kCustom) {
    SLIPWAY_ASSIGN(spec.environment, models::serving_environment(reader, found.front()));
    spec.environment_chosen = true;
  }
  if (!resources_named) {
    spec.resources = usual_resources(found);
    if (found.size() == 1) take_resources(found.front().resources, spec.resources);
  }
  return {};
}

Status hold_models(store::Writer& writer, const Service& service, const std::vector<Revision>& revisions,
                   Timestamp now) {
  SLIPWAY_TRY(release_models(writer, service));
  for (const Revision& revision : revisions) {
    if (revision.state != RevisionState::kServing && revision.state != RevisionState::kLoading) continue;
    for (const std::string& text : revision.spec.models) {
      SLIPWAY_ASSIGN(const ModelReference reference, parse_model_reference(text));
      SLIPWAY_TRY(models::hold_model(writer, service.workspace, reference, holder_of(service), now));
    }
  }
  return {};
}

Status release_models(store::Writer& writer, const Service& service) {
  return models::release_models(writer, service.workspace, holder_of(service));
}

json::object shown(const Service& service, const std::vector<Revision>& revisions,
                   const std::vector<Replica>& replicas, const FrontDoor& door) {
  const auto ready = std::ranges::count_if(replicas, [&](const Replica& replica) {
    return replica.state == ReplicaState::kReady && replica.revision == service.revision;
  });
  const std::string path = "/services/" + service.name;
  json::object object{{"name", service.name},
                      {"workspace", service.workspace.str()},
                      {"description", service.description},
                      {"tags", slipway::to_json(service.tags)},
                      {"state", to_text(service.state)},
                      {"reason", service.reason},
                      {"auth", to_text(service.auth)},
                      {"path", path},
                      {"scoring_path", path + "/score"},
                      {"swagger_path", path + "/swagger.json"},
                      {"port", service.port == 0 ? json::value() : json::value(service.port)},
                      {"version", service.revision},
                      {"newest_version", service.last_revision},
                      {"created_by", service.created_by},
                      {"created_at", to_iso8601(service.created_at)},
                      {"changed_at", to_iso8601(service.changed_at)}};
  for (auto& field : to_json(service.scaling)) object[field.key()] = field.value();
  object["wanted_replicas"] = service.wanted;
  object["ready_replicas"] = ready;
  object["traffic"] = shown_traffic(door.traffic(service.name));
  json::array versions;
  for (const Revision& revision : revisions) {
    versions.push_back(to_json(revision));
    // What serves, or is to: the top of the document says it without a search.
    if (revision.number == service.revision ||
        (service.revision == 0 && revision.number == service.last_revision))
      object["serving"] = to_json(revision);
    if (revision.number == service.last_revision && service.last_revision != service.revision)
      object["update"] = json::object{
          {"version", revision.number}, {"state", to_text(revision.state)}, {"reason", revision.reason}};
  }
  object["versions"] = std::move(versions);
  object["replica_list"] = shown_replicas(replicas, door);
  return object;
}

}  // namespace slipway::services

// Models: registered, looked at, compared, read, let go.
#include <fmt/format.h>

#include "base/log.h"
#include "models/lineage.h"
#include "routes/model_request.h"
#include "routes/request.h"
#include "routes/services.h"
#include "runs/deletion.h"
#include "runs/run_table.h"

namespace slipway::routes {
namespace {

using http::Access;
using http::Method;
using http::Request;
using http::Response;
using models::ModelVersion;

constexpr int64_t kDefaultFiles = 1000;
constexpr int64_t kMostFiles = 10'000;
constexpr size_t kMostChanges = 10'000;

Result<ModelVersion> model_of(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const ModelReference reference, model_reference_of(request));
  return services.models.find(workspace_of(request), reference);
}

// With what uses it; where it came from is in the record itself.
Result<json::object> describe(Services& services, const ModelVersion& model) {
  json::object object = models::to_json(model);
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(json::object uses, models::describe_uses(reader, model));
    for (auto& [key, value] : uses) object[key] = std::move(value);
    return {};
  }));
  return object;
}

Result<Response> model_page(Services& services, const Request& request, models::ModelFilter filter) {
  const int64_t wanted = filter.limit++;  // one more tells whether there is a next page
  std::vector<ModelVersion> found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    if (const auto run = request.query_value("run")) {
      SLIPWAY_ASSIGN(filter.run, runs::resolve_run(reader, workspace_of(request), *run));
    }
    SLIPWAY_ASSIGN(found, models::list_models(reader, workspace_of(request), filter));
    return {};
  }));
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) > wanted) {
    found.pop_back();
    next = encode_cursor(found.back().seq);
  }
  json::array items;
  for (ModelVersion& model : found) {
    (void)services.trials.settle(model);  // shown as it was when the store takes nothing in
    items.push_back(models::to_json(model));
  }
  return page(std::move(items), next);
}

Result<Response> list(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(models::ModelFilter filter, model_filter_of(request));
  return model_page(services, request, std::move(filter));
}

Result<Response> versions(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const ModelVersion newest, model_of(services, request));
  SLIPWAY_ASSIGN(models::ModelFilter filter, model_filter_of(request));
  filter.name = newest.name;
  return model_page(services, request, std::move(filter));
}

Result<Response> add(Services& services, const Request& request, models::NewModel made) {
  made.workspace = workspace_of(request);
  made.created_by = request.caller.name;
  SLIPWAY_ASSIGN(made.request, request_key(request, made.workspace.str()));
  SLIPWAY_ASSIGN(const models::Registered registered, services.models.add(made));
  SLIPWAY_ASSIGN(const json::object answer, describe(services, registered.model));
  return http::json_response(answer, registered.repeated ? 200 : 201);
}

Result<Response> create(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the model"));
  std::string run;
  SLIPWAY_ASSIGN(models::NewModel made, new_model_of(body, true, run));
  if (!run.empty()) {
    SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(made.run, runs::resolve_run(reader, workspace_of(request), run));
      return {};
    }));
  } else if (made.snapshot.empty()) {
    return fail(ErrorCode::kInvalidArgument, "the field 'path' needs the field 'run': whose files it names");
  }
  return add(services, request, std::move(made));
}

// The same from within a job, whose token opens its own run alone.
Result<Response> create_from_run(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the model"));
  std::string none;
  SLIPWAY_ASSIGN(models::NewModel made, new_model_of(body, false, none));
  SLIPWAY_ASSIGN(const runs::Run run, run_of(services, request));
  made.run = run.id;
  return add(services, request, std::move(made));
}

Result<Response> of_run(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const runs::Run run, run_of(services, request));
  json::object answer;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(answer, models::models_of_run(reader, run.id));
    return {};
  }));
  return http::json_response(answer);
}

Result<Response> show(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const ModelVersion model, model_of(services, request));
  SLIPWAY_ASSIGN(const json::object answer, describe(services, model));
  return http::json_response(answer);
}

Result<Response> change(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the change"));
  SLIPWAY_ASSIGN(const models::ModelChange wanted, model_change_of(body));
  SLIPWAY_ASSIGN(const ModelReference reference, model_reference_of(request));
  SLIPWAY_ASSIGN(const ModelVersion model, services.models.change(workspace_of(request), reference, wanted));
  SLIPWAY_ASSIGN(const json::object answer, describe(services, model));
  return http::json_response(answer);
}

// The trial of a version that is gone is nobody's; one that cannot go stays in the list of all runs.
void forget_trial(Services& services, const ModelVersion& model) {
  if (!model.trial.run) return;
  std::optional<runs::Run> trial;
  (void)services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(trial, runs::load_run(reader, *model.trial.run));
    return {};
  });
  if (!trial) return;
  if (const Status deleted = runs::delete_run(services.database, services.metrics, services.logs, *trial);
      !deleted)
    log_warning("model.trial_kept", {{"run", trial->id}, {"error", deleted.error()}});
}

Result<Response> remove(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const ModelReference reference, model_reference_of(request));
  SLIPWAY_ASSIGN(const auto removed, services.models.remove(workspace_of(request), reference));
  for (const ModelVersion& model : removed) forget_trial(services, model);
  services.housekeeping.wake();
  return http::empty_response();
}

Result<Response> try_again(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(ModelVersion model, model_of(services, request));
  SLIPWAY_TRY(services.trials.repeat(model));
  SLIPWAY_ASSIGN(const json::object answer, describe(services, model));
  return http::json_response(answer, 202);
}

Result<Response> files(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const int64_t limit, request.query_int("limit", kDefaultFiles, 1, kMostFiles));
  SLIPWAY_ASSIGN(const auto after, cursor_of(request));
  SLIPWAY_ASSIGN(const ModelVersion model, model_of(services, request));
  SLIPWAY_ASSIGN(const auto manifest, services.models.files(model));
  const auto& all = manifest.entries();
  const size_t begin = std::min<size_t>(static_cast<size_t>(after.value_or(0)), all.size());
  const size_t end = std::min<size_t>(begin + static_cast<size_t>(limit), all.size());
  json::array items;
  for (size_t i = begin; i < end; ++i)
    items.push_back(json::object{{"path", all[i].path},
                                 {"size", all[i].size},
                                 {"digest", all[i].digest.hex()},
                                 {"mode", all[i].mode}});
  std::optional<std::string> next;
  if (end < all.size()) next = encode_cursor(static_cast<int64_t>(end));
  return page(std::move(items), next);
}

// Never to be shown as a page: it is whatever a user has put there.
Result<Response> blob_response(Services& services, const Request& request, const Digest& digest) {
  SLIPWAY_ASSIGN(auto blob, services.blobs.open(digest));
  Response response =
      http::file_response(request, std::move(blob.fd), blob.size, "application/octet-stream", digest.hex());
  response.headers["content-disposition"] = "attachment";
  response.headers["content-security-policy"] = "sandbox";
  return response;
}

Result<Response> content(Services& services, const Request& request) {
  const auto path = request.query_value("path");
  if (!path)
    return fail(ErrorCode::kInvalidArgument, "'path' is missing", "name the file: ?path=model/weights.bin");
  SLIPWAY_ASSIGN(const ModelVersion model, model_of(services, request));
  SLIPWAY_ASSIGN(const auto manifest, services.models.files(model));
  const snapshot::Entry* entry = manifest.find(*path);
  if (entry == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("{} has no file '{}'", to_text(models::reference_of(model)),
                                                  path->substr(0, 128)));
  return blob_response(services, request, entry->digest);
}

Result<Response> sample(Services& services, const Request& request) {
  const std::string& which = request.param("sample");
  SLIPWAY_ASSIGN(const ModelVersion model, model_of(services, request));
  const models::Sample* found = which == "input"    ? &model.sample_input
                                : which == "output" ? &model.sample_output
                                                    : nullptr;
  if (found == nullptr || found->digest.empty())
    return fail(
        ErrorCode::kNotFound,
        fmt::format("{} keeps no sample '{}'", to_text(models::reference_of(model)), which.substr(0, 64)),
        "samples are input and output; one that is a dataset is read as that");
  SLIPWAY_ASSIGN(const Digest digest, Digest::parse(found->digest));
  return blob_response(services, request, digest);
}

// What differs of the records, but for what always does.
json::object facts_diff(const ModelVersion& from, const ModelVersion& to) {
  const json::object before = models::to_json(from);
  const json::object after = models::to_json(to);
  json::object changed;
  const auto compare = [&](std::string_view field, const json::value& old, const json::value& now) {
    if (old != now) changed[field] = json::object{{"from", old}, {"to", now}};
  };
  for (const char* field : {"framework", "framework_version", "environment", "description", "resources",
                            "run", "code", "datasets", "tags", "properties"})
    compare(field, before.at(field), after.at(field));
  const auto trial = [](const json::object& model, std::string_view field) {
    return model.at("trial").as_object().at(field);
  };
  for (const char* field : {"serves", "signature"}) compare(field, trial(before, field), trial(after, field));
  return changed;
}

Result<Response> diff(Services& services, const Request& request) {
  std::vector<ModelVersion> sides;
  std::vector<snapshot::Manifest> manifests;
  for (const std::string_view name : {"from", "to"}) {
    const auto text = request.query_value(name);
    if (!text)
      return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is missing", name),
                  "name two versions: ?from=digits:1&to=digits:2");
    SLIPWAY_ASSIGN(const ModelReference reference, parse_model_reference(*text));
    SLIPWAY_ASSIGN(auto model, services.models.find(workspace_of(request), reference));
    SLIPWAY_ASSIGN(auto manifest, services.models.files(model));
    sides.push_back(std::move(model));
    manifests.push_back(std::move(manifest));
  }
  const auto changes = snapshot::diff(manifests[0], manifests[1]);
  json::array items;
  for (const snapshot::FileChange& change : changes) {
    if (items.size() == kMostChanges) break;
    items.push_back(json::object{{"path", change.path}, {"change", snapshot::to_text(change.change)}});
  }
  return http::json_response(json::object{{"from", to_text(models::reference_of(sides[0]))},
                                          {"to", to_text(models::reference_of(sides[1]))},
                                          {"changes", changes.size()},
                                          {"files", std::move(items)},
                                          {"facts", facts_diff(sides[0], sides[1])}});
}

}  // namespace

std::vector<RouteRow> model_routes() {
  const std::string workspace = "/api/v1/workspaces/{workspace}";
  const std::string models = workspace + "/models";
  const std::string one = models + "/{model}";
  const std::string run = workspace + "/runs/{run}/models";
  return {
      {Method::kGet, models, Access::kReader, list},
      {Method::kPost, models, Access::kContributor, create},
      {Method::kGet, one, Access::kReader, show},
      {Method::kPatch, one, Access::kContributor, change},
      {Method::kDelete, one, Access::kContributor, remove},
      {Method::kGet, one + "/versions", Access::kReader, versions},
      {Method::kGet, one + "/files", Access::kReader, files},
      {Method::kGet, one + "/content", Access::kReader, content},
      {Method::kGet, one + "/samples/{sample}", Access::kReader, sample},
      {Method::kPost, one + "/trial", Access::kContributor, try_again},
      {Method::kGet, run, Access::kReader, of_run},
      {Method::kPost, run, Access::kRun, create_from_run},
      {Method::kGet, workspace + "/model-diff", Access::kReader, diff},
  };
}

}  // namespace slipway::routes

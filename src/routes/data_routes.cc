// Datasets: created, looked at, compared, read.
#include <fmt/format.h>

#include "data/datasets.h"
#include "data/preview.h"
#include "models/lineage.h"
#include "routes/data_request.h"
#include "routes/request.h"
#include "routes/services.h"
#include "runs/job_data.h"

namespace slipway::routes {
namespace {

using data::VersionRecord;
using http::Access;
using http::Method;
using http::Request;
using http::Response;

constexpr int64_t kMostRunsShown = 100;
constexpr int64_t kDefaultFiles = 1000;
constexpr int64_t kMostFiles = 10'000;
constexpr size_t kMostChanges = 10'000;

Result<VersionRecord> version_of(Services& services, const Request& request) {
  return services.datasets.find(workspace_of(request), request.param("dataset"));
}

// With the runs that used it and the models made from it; the run that made it is in the record itself.
Result<json::object> describe(Services& services, const Request& request, const VersionRecord& record) {
  json::object object = data::to_json(record);
  json::array used_by;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(const auto uses, data::runs_using(reader, workspace_of(request), record.name,
                                                     record.version, kMostRunsShown));
    for (const data::RunUse& use : uses)
      used_by.push_back(json::object{{"run", use.run.str()}, {"input", use.input}});
    SLIPWAY_ASSIGN(object["models"],
                   models::models_of_dataset(reader, workspace_of(request), record.name, record.version));
    return {};
  }));
  object["used_by"] = std::move(used_by);
  return object;
}

Result<Response> list(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  SLIPWAY_ASSIGN(const std::string after, name_cursor_of(request));
  std::vector<VersionRecord> found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(found, data::list_newest(reader, workspace_of(request), after, limit));
    return {};
  }));
  json::array items;
  for (const VersionRecord& record : found) items.push_back(data::to_json(record));
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) == limit) next = found.back().name;
  return page(std::move(items), next);
}

Result<Response> create(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the dataset"));
  data::NewDataset made;
  json::object definition;
  JsonFields fields(body, "the dataset");
  fields.required("name", made.name);
  fields.required("definition", definition);
  fields.optional("description", made.description);
  fields.optional("tags", made.tags);
  SLIPWAY_TRY(fields.finish());
  SLIPWAY_ASSIGN(made.definition, data::definition_from_json(definition));
  made.created_by = request.caller.name;
  SLIPWAY_ASSIGN(const auto created, services.datasets.create(workspace_of(request), made));
  SLIPWAY_ASSIGN(json::object answer, describe(services, request, created.record));
  answer["existed"] = created.existed;
  return http::json_response(answer, created.existed ? 200 : 201);
}

Result<Response> show(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const VersionRecord record, version_of(services, request));
  SLIPWAY_ASSIGN(const json::object answer, describe(services, request, record));
  return http::json_response(answer);
}

Result<Response> change(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the change"));
  json::object tags;
  std::optional<std::string> description;
  JsonFields fields(body, "the change");
  fields.optional("tags", tags);
  fields.optional("description", description);
  SLIPWAY_TRY(fields.finish());
  std::map<std::string, std::optional<std::string>> changes;
  for (const auto& [key, value] : tags) {
    if (!value.is_null() && !value.is_string())
      return fail(ErrorCode::kInvalidArgument, "the value of a tag is a string, or null to remove it");
    changes.emplace(key, value.is_null() ? std::nullopt : std::optional<std::string>(value.get_string()));
  }
  SLIPWAY_ASSIGN(
      const VersionRecord record,
      services.datasets.label(workspace_of(request), request.param("dataset"), changes, description));
  SLIPWAY_ASSIGN(const json::object answer, describe(services, request, record));
  return http::json_response(answer);
}

Result<Response> remove(Services& services, const Request& request) {
  SLIPWAY_TRY(services.datasets.remove(workspace_of(request), request.param("dataset")));
  services.housekeeping.wake();
  return http::empty_response();
}

Result<Response> versions(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  SLIPWAY_ASSIGN(const auto before, cursor_of(request));
  SLIPWAY_ASSIGN(const VersionRecord newest, version_of(services, request));
  std::vector<VersionRecord> found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(found, data::list_versions(reader, workspace_of(request), newest.name,
                                              before.value_or(INT64_MAX), limit));
    return {};
  }));
  json::array items;
  for (const VersionRecord& record : found) items.push_back(data::to_json(record));
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) == limit) next = encode_cursor(found.back().version);
  return page(std::move(items), next);
}

json::object describe(const data::Manifest& manifest, const data::File& file) {
  const data::Source& source = manifest.source_of(file);
  json::object item{{"path", file.path},
                    {"size", file.size},
                    {"tag", file.tag},
                    {"kind", data::to_text(source.kind)},
                    {"source", source.datastore.empty() ? source.location : source.datastore},
                    {"key", file.key}};
  item["digest"] = file.digest ? json::value(file.digest->hex()) : json::value(nullptr);
  return item;
}

Result<Response> files(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const int64_t limit, request.query_int("limit", kDefaultFiles, 1, kMostFiles));
  SLIPWAY_ASSIGN(const auto after, cursor_of(request));
  SLIPWAY_ASSIGN(const VersionRecord record, version_of(services, request));
  SLIPWAY_ASSIGN(const auto manifest, services.datasets.manifest(record.manifest));
  const auto& all = manifest->files();
  const size_t begin = std::min<size_t>(static_cast<size_t>(after.value_or(0)), all.size());
  const size_t end = std::min<size_t>(begin + static_cast<size_t>(limit), all.size());
  json::array items;
  for (size_t i = begin; i < end; ++i) items.push_back(describe(*manifest, all[i]));
  std::optional<std::string> next;
  if (end < all.size()) next = encode_cursor(static_cast<int64_t>(end));
  return page(std::move(items), next);
}

Response manifest_response(const Request& request, blobs::OpenBlob text, const Digest& id) {
  return http::file_response(request, std::move(text.fd), text.size, "application/x-ndjson", id.hex());
}

Result<Response> manifest(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const VersionRecord record, version_of(services, request));
  SLIPWAY_ASSIGN(auto text, services.datasets.manifest_text(record.manifest));
  return manifest_response(request, std::move(text), record.manifest);
}

// One file of a version, wherever it lies: for whoever cannot get at its source.
Result<Response> content_of(Services& services, const Request& request, const VersionRecord& record) {
  const auto path = request.query_value("path");
  if (!path)
    return fail(ErrorCode::kInvalidArgument, "'path' is missing", "name the file: ?path=folder/file");
  SLIPWAY_ASSIGN(const auto manifest, services.datasets.manifest(record.manifest));
  const data::File* file = manifest->find(*path);
  if (file != nullptr && manifest->source_of(*file).kind == data::SourceKind::kHttp)
    return range_response(request, {.path = file->path, .size = file->size, .tag = file->tag},
                          [&](const data::Range& range, const data::Sink& sink) {
                            return services.datasets.read(workspace_of(request), *manifest, *file, range,
                                                          sink);
                          });
  SLIPWAY_ASSIGN(auto opened, services.datasets.open(workspace_of(request), *manifest, *path));
  return http::file_response(request, std::move(opened.fd), opened.size, "application/octet-stream",
                             opened.tag);
}

Result<Response> content(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const VersionRecord record, version_of(services, request));
  return content_of(services, request, record);
}

Result<Response> preview(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const int64_t rows, request.query_int("rows", 10, 1, 1000));
  SLIPWAY_ASSIGN(const VersionRecord record, version_of(services, request));
  SLIPWAY_ASSIGN(const auto manifest, services.datasets.manifest(record.manifest));
  SLIPWAY_ASSIGN(json::object answer, data::preview(record.definition, *manifest, static_cast<size_t>(rows),
                                                    [&](const data::File& file, uint64_t bytes) {
                                                      return services.datasets.read_beginning(
                                                          workspace_of(request), *manifest, file, bytes);
                                                    }));
  answer["dataset"] = data::to_text(record);
  return http::json_response(answer);
}

Result<Response> diff(Services& services, const Request& request) {
  std::vector<VersionRecord> sides;
  std::vector<std::shared_ptr<const data::Manifest>> manifests;
  for (const std::string_view name : {"from", "to"}) {
    const auto text = request.query_value(name);
    if (!text)
      return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is missing", name),
                  "name two versions: ?from=A:1&to=A:2");
    SLIPWAY_ASSIGN(auto record, services.datasets.find(workspace_of(request), *text));
    SLIPWAY_ASSIGN(auto manifest, services.datasets.manifest(record.manifest));
    sides.push_back(std::move(record));
    manifests.push_back(std::move(manifest));
  }
  const auto changes = data::diff(*manifests[0], *manifests[1]);
  json::array items;
  for (const data::FileChange& change : changes) {
    if (items.size() == kMostChanges) break;
    items.push_back(json::object{{"path", change.path}, {"change", data::to_text(change.change)}});
  }
  json::object answer{{"from", data::to_text(sides[0])},
                      {"to", data::to_text(sides[1])},
                      {"changes", changes.size()},
                      {"files", std::move(items)}};
  answer["definition"] = sides[0].definition == sides[1].definition
                             ? json::value(nullptr)
                             : json::value(json::object{{"from", data::to_json(sides[0].definition)},
                                                        {"to", data::to_json(sides[1].definition)}});
  return http::json_response(answer);
}

// What a job's own token may read: the versions its run names, and no others.
Result<VersionRecord> input_of(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const runs::Run run, run_of(services, request));
  const auto input = run.job.inputs.find(request.param("input"));
  if (input == run.job.inputs.end())
    return fail(ErrorCode::kNotFound,
                fmt::format("{} has no input '{}'", run.id, request.param("input").substr(0, 64)));
  return services.datasets.find(run.workspace, input->second.dataset);
}

Result<Response> input_manifest(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const VersionRecord record, input_of(services, request));
  SLIPWAY_ASSIGN(auto text, services.datasets.manifest_text(record.manifest));
  return manifest_response(request, std::move(text), record.manifest);
}

Result<Response> input_content(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const VersionRecord record, input_of(services, request));
  return content_of(services, request, record);
}

}  // namespace

std::vector<RouteRow> data_routes() {
  const std::string workspace = "/api/v1/workspaces/{workspace}";
  const std::string one = workspace + "/data/{dataset}";
  const std::string input = workspace + "/runs/{run}/inputs/{input}";
  return {
      {Method::kGet, workspace + "/data", Access::kReader, list},
      {Method::kPost, workspace + "/data", Access::kContributor, create},
      {Method::kGet, one, Access::kReader, show},
      {Method::kPatch, one, Access::kContributor, change},
      {Method::kDelete, one, Access::kContributor, remove},
      {Method::kGet, one + "/versions", Access::kReader, versions},
      {Method::kGet, one + "/files", Access::kReader, files},
      {Method::kGet, one + "/manifest", Access::kReader, manifest},
      {Method::kGet, one + "/content", Access::kReader, content},
      {Method::kGet, one + "/preview", Access::kReader, preview},
      {Method::kGet, workspace + "/data-diff", Access::kReader, diff},
      {Method::kGet, input + "/manifest", Access::kReader, input_manifest},
      {Method::kGet, input + "/content", Access::kReader, input_content},
  };
}

}  // namespace slipway::routes

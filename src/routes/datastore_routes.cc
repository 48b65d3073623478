// Datastores: what there is, what lies in them, and the workspace's own store going in and out.
#include <fmt/format.h>

#include "base/file.h"
#include "data/datastores.h"
#include "data/folder_datastore.h"
#include "routes/data_request.h"
#include "routes/request.h"
#include "routes/services.h"

namespace slipway::routes {
namespace {

using http::Access;
using http::BodyMode;
using http::Method;
using http::Request;
using http::Response;

constexpr uint64_t kLargestFileList = 64 << 20;
constexpr uint64_t kLargestContent = 1ULL << 40;
constexpr int64_t kDefaultFiles = 1000;
constexpr int64_t kMostFiles = 10'000;

const std::string& name_of(const Request& request) {
  return request.param("datastore");
}

Result<std::string> path_of(const Request& request) {
  const auto path = request.query_value("path");
  if (!path || path->empty())
    return fail(ErrorCode::kInvalidArgument, "'path' is missing", "name the file: ?path=folder/file");
  return *path;
}

Result<Response> list(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const auto found, services.datastores.list(workspace_of(request)));
  json::array items;
  for (const data::DatastoreSpec& spec : found) items.push_back(data::to_json(spec));
  return page(std::move(items));
}

Result<Response> add(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the datastore"));
  SLIPWAY_ASSIGN(const auto made, data::new_datastore_from_json(body));
  SLIPWAY_ASSIGN(const auto spec, services.datastores.add(workspace_of(request), made));
  return http::json_response(data::to_json(spec), 201);
}

Result<Response> show(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const auto spec, services.datastores.find(workspace_of(request), name_of(request)));
  return http::json_response(data::to_json(spec));
}

Result<Response> remove(Services& services, const Request& request) {
  SLIPWAY_TRY(services.datastores.remove(workspace_of(request), name_of(request)));
  return http::empty_response();
}

Result<Response> set_default(Services& services, const Request& request) {
  SLIPWAY_TRY(services.datastores.set_default(workspace_of(request), name_of(request)));
  return show(services, request);
}

json::object describe(const data::Object& object) {
  json::object item{{"path", object.path}, {"size", object.size}, {"tag", object.tag}};
  item["digest"] = object.digest ? json::value(object.digest->hex()) : json::value(nullptr);
  item["refused"] = object.refused;
  return item;
}

Result<Response> files(Services& services, const Request& request) {
  data::ListRequest wanted{.prefix = request.query_value("prefix").value_or(""),
                           .after = request.query_value("cursor").value_or("")};
  SLIPWAY_ASSIGN(const int64_t limit, request.query_int("limit", kDefaultFiles, 1, kMostFiles));
  wanted.limit = static_cast<size_t>(limit);
  SLIPWAY_ASSIGN(const auto opened, services.datastores.open(workspace_of(request), name_of(request)));
  SLIPWAY_ASSIGN(const data::Page found, opened.store->list(wanted));
  json::array items;
  for (const data::Object& object : found.objects) items.push_back(describe(object));
  return page(std::move(items), found.next.empty() ? std::nullopt : std::optional(found.next));
}

Result<data::Existing> existing_of(const std::string& text) {
  if (text == "skip") return data::Existing::kSkip;
  if (text == "replace") return data::Existing::kReplace;
  if (text == "refuse") return data::Existing::kRefuse;
  return fail(ErrorCode::kInvalidArgument, "'existing' is skip, replace or refuse");
}

Result<Response> add_files(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the list of files"));
  json::array list;
  std::string existing = "refuse";
  JsonFields fields(body, "the list of files");
  fields.required("files", list);
  fields.optional("existing", existing);
  SLIPWAY_TRY(fields.finish());
  SLIPWAY_ASSIGN(const data::Existing rule, existing_of(existing));
  SLIPWAY_ASSIGN(const auto stored, stored_files_from_json(list));
  SLIPWAY_ASSIGN(const auto spec, services.datastores.find(workspace_of(request), name_of(request)));
  if (spec.kind != data::SourceKind::kWorkspace)
    return fail(ErrorCode::kUnsupported,
                fmt::format("the datastore '{}' does not take files by their digest", spec.name),
                "send each one: PUT .../content?path=");
  data::WorkspaceDatastore own = services.datastores.own(workspace_of(request), spec.name);
  SLIPWAY_ASSIGN(const data::Added added, own.add(stored, rule));
  return http::json_response(json::object{{"added", added.files}, {"skipped", to_json(added.skipped)}});
}

Result<Response> remove_file(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const std::string path, path_of(request));
  SLIPWAY_ASSIGN(const auto spec, services.datastores.find(workspace_of(request), name_of(request)));
  if (spec.kind != data::SourceKind::kWorkspace)
    return fail(ErrorCode::kUnsupported,
                fmt::format("files of the datastore '{}' are not Slipway's to remove", spec.name));
  SLIPWAY_TRY(services.datastores.own(workspace_of(request), spec.name).remove(path));
  return http::empty_response();
}

Result<Response> content(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const std::string path, path_of(request));
  SLIPWAY_ASSIGN(const auto opened, services.datastores.open(workspace_of(request), name_of(request)));
  SLIPWAY_ASSIGN(const data::Object object, opened.store->stat(path));
  if (opened.store->kind() == data::SourceKind::kWorkspace) {
    SLIPWAY_ASSIGN(auto blob, services.blobs.open(*object.digest));
    return http::file_response(request, std::move(blob.fd), blob.size, "application/octet-stream",
                               object.tag);
  }
  if (auto* folder = dynamic_cast<data::FolderDatastore*>(opened.store.get())) {
    SLIPWAY_ASSIGN(auto file, folder->open_file(path));
    return http::file_response(request, std::move(file), object.size, "application/octet-stream", object.tag);
  }
  return range_response(request, object, [&](const data::Range& range, const data::Sink& sink) -> Status {
    SLIPWAY_TRY(opened.store->read(path, range, object.tag, sink));
    return {};
  });
}

Result<Response> put_content(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const std::string path, path_of(request));
  const bool overwrite = request.query_value("overwrite") == "true";
  SLIPWAY_ASSIGN(const auto opened, services.datastores.open(workspace_of(request), name_of(request)));
  SLIPWAY_ASSIGN(const data::Object object,
                 opened.store->write(path, [&] { return request.stream->next(); }, overwrite));
  return http::json_response(describe(object), 201);
}

}  // namespace

std::vector<RouteRow> datastore_routes() {
  const std::string datastores = "/api/v1/workspaces/{workspace}/datastores";
  const std::string one = datastores + "/{datastore}";
  return {
      {Method::kGet, datastores, Access::kReader, list},
      // A folder of the server becomes readable to the whole workspace: not for everybody to decide.
      {Method::kPost, datastores, Access::kOwner, add},
      {Method::kGet, one, Access::kReader, show},
      {Method::kDelete, one, Access::kOwner, remove},
      {Method::kPost, one + "/default", Access::kOwner, set_default},
      {Method::kGet, one + "/files", Access::kReader, files},
      {Method::kPost, one + "/files", Access::kContributor, add_files, BodyMode::kBuffered, kLargestFileList},
      {Method::kDelete, one + "/files", Access::kContributor, remove_file},
      {Method::kGet, one + "/content", Access::kReader, content},
      {Method::kPut, one + "/content", Access::kContributor, put_content, BodyMode::kStreamed,
       kLargestContent},
  };
}

}  // namespace slipway::routes

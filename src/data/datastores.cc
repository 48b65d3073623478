#include "data/datastores.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "data/folder_datastore.h"
#include "data/http_datastore.h"
#include "data/shown.h"

namespace slipway::data {
namespace {

constexpr size_t kLongestDescription = 4096;

bool is_own(std::string_view name) {
  return name == kOwnStore || name == kOwnFileStore;
}

DatastoreSpec own_spec(std::string_view name) {
  return {
      .name = std::string(name),
      .kind = SourceKind::kWorkspace,
      .location = "",
      .description = name == kOwnStore ? "the workspace's own store" : "a second one, for Azure's name of it",
      .has_credentials = false,
      .is_default = false,
      .created_at = {}};
}

std::string seal_about(const WorkspaceName& workspace, const std::string& name) {
  return fmt::format("datastore/{}/{}", workspace, name);
}

Result<std::string> default_of(store::Reader& reader, const WorkspaceName& workspace) {
  std::string name(kOwnStore);
  SLIPWAY_TRY(reader.query("SELECT datastore FROM default_datastores WHERE workspace = ?", {workspace},
                           [&](const store::Row& row) { name = row.text(0); }));
  return name;
}

Result<std::vector<DatastoreSpec>> all_of(store::Reader& reader, const WorkspaceName& workspace) {
  std::vector<DatastoreSpec> found{own_spec(kOwnStore), own_spec(kOwnFileStore)};
  SLIPWAY_ASSIGN(const std::string chosen, default_of(reader, workspace));
  SLIPWAY_TRY(reader.query(
      "SELECT name, kind, location, description, credentials, created_at FROM datastores WHERE workspace = ? "
      "ORDER BY name",
      {workspace}, [&](const store::Row& row) {
        found.push_back({.name = std::string(row.text(0)),
                         .kind = source_kind_from_text(row.text(1)).value_or(SourceKind::kFolder),
                         .location = std::string(row.text(2)),
                         .description = std::string(row.text(3)),
                         .has_credentials = !row.text(4).empty(),
                         .is_default = false,
                         .created_at = row.time(5)});
      }));
  for (DatastoreSpec& spec : found) spec.is_default = spec.name == chosen;
  return found;
}

Status check_location(const NewDatastore& made) {
  if (made.kind == SourceKind::kFolder) {
    if (!made.location.starts_with('/'))
      return fail(ErrorCode::kInvalidArgument, "the folder of a datastore is an absolute path");
    auto opened = FolderDatastore::open(made.location);
    if (!opened) return fail(ErrorCode::kInvalidArgument, opened.error().message, opened.error().next);
    if (!made.credentials.empty())
      return fail(ErrorCode::kInvalidArgument, "a folder takes no credentials",
                  "who may read it is a matter of its permissions");
    return {};
  }
  SLIPWAY_ASSIGN(const Url url, parse_url(made.location));
  if (url.target.contains('?'))
    return fail(ErrorCode::kInvalidArgument, "the address of a datastore has no query",
                "put what it holds into credentials: 'header NAME: VALUE'");
  if (!made.credentials.empty() && !url.secure && url.host != "localhost" && !url.host.starts_with("127."))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("credentials would go to {} for everybody on the way to read", url.server()),
                "use its https address");
  return {};
}

}  // namespace

Result<DatastoreSpec> find_datastore(store::Reader& reader, const WorkspaceName& workspace,
                                     const std::string& name) {
  SLIPWAY_ASSIGN(const auto all, all_of(reader, workspace));
  std::vector<std::string> names;
  for (const DatastoreSpec& spec : all) {
    if (spec.name == name || (name == kDefaultAlias && spec.is_default)) return spec;
    names.push_back(spec.name);
  }
  return fail(ErrorCode::kNotFound,
              fmt::format("there is no datastore '{}' in workspace '{}'", shown(name), workspace),
              fmt::format("there are {}; or add it: slipway datastore add {} --path FOLDER",
                          fmt::join(names, ", "), shown(name)));
}

json::object to_json(const DatastoreSpec& spec) {
  return {{"name", spec.name},
          {"kind", to_text(spec.kind)},
          {"location", spec.location},
          {"description", spec.description},
          {"has_credentials", spec.has_credentials},
          {"default", spec.is_default},
          {"read_only", spec.kind == SourceKind::kHttp},
          {"created_at",
           spec.created_at.micros == 0 ? json::value(nullptr) : json::value(to_iso8601(spec.created_at))}};
}

Result<NewDatastore> new_datastore_from_json(const json::object& object) {
  NewDatastore made;
  std::string path;
  std::string url;
  std::string credentials;
  JsonFields fields(object, "the datastore");
  fields.required("name", made.name);
  fields.optional("path", path);
  fields.optional("url", url);
  fields.optional("description", made.description);
  fields.optional("credentials", credentials);
  SLIPWAY_TRY(fields.finish());
  SLIPWAY_TRY(check_name(made.name, "datastore"));
  if (path.empty() == url.empty())
    return fail(ErrorCode::kInvalidArgument, "a datastore has a path or a url, one of the two");
  if (made.description.size() > kLongestDescription)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a description has at most {} bytes", kLongestDescription));
  made.kind = path.empty() ? SourceKind::kHttp : SourceKind::kFolder;
  made.location = path.empty() ? url : path;
  made.credentials = Secret(std::move(credentials));
  return made;
}

json::object to_json(const SourceAccess& access) {
  json::object headers;
  for (const auto& [name, value] : access.headers) headers[name] = value.reveal();
  return {{"kind", to_text(access.source.kind)},
          {"datastore", access.source.datastore},
          {"location", access.location},
          {"headers", std::move(headers)}};
}

Result<DatastoreSpec> Datastores::add(const WorkspaceName& workspace, const NewDatastore& made) {
  for (const std::string_view taken : {kOwnStore, kOwnFileStore, kDefaultAlias, std::string_view("http"),
                                       std::string_view("https"), std::string_view("dataset")})
    if (made.name == taken)
      return fail(ErrorCode::kConflict, fmt::format("the name '{}' is Slipway's own", made.name),
                  "choose another name");
  SLIPWAY_TRY(check_location(made));
  std::string sealed;
  if (!made.credentials.empty()) {
    SLIPWAY_TRY(parse_credentials(made.credentials));
    SLIPWAY_ASSIGN(sealed, seal_.close(made.credentials, seal_about(workspace, made.name)));
  }
  DatastoreSpec spec;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    const Status added = writer.run(
        "INSERT INTO datastores (workspace, name, kind, location, description, credentials, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        {workspace, made.name, to_text(made.kind), made.location, made.description, sealed, clock_.now()});
    if (!added && added.error().code == ErrorCode::kConflict)
      return fail(ErrorCode::kConflict, fmt::format("there is a datastore '{}' already", made.name),
                  fmt::format("choose another name, or remove it: slipway datastore remove {}", made.name));
    SLIPWAY_TRY(added);
    SLIPWAY_ASSIGN(spec, find_datastore(writer, workspace, made.name));
    return {};
  }));
  return spec;
}

Result<std::vector<DatastoreSpec>> Datastores::list(const WorkspaceName& workspace) {
  std::vector<DatastoreSpec> found;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(found, all_of(reader, workspace));
    return {};
  }));
  return found;
}

Result<DatastoreSpec> Datastores::find(const WorkspaceName& workspace, const std::string& name) {
  DatastoreSpec spec;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(spec, find_datastore(reader, workspace, name));
    return {};
  }));
  return spec;
}

Status Datastores::remove(const WorkspaceName& workspace, const std::string& name) {
  if (is_own(name))
    return fail(ErrorCode::kConflict,
                fmt::format("the datastore '{}' is the workspace's own and stays", name));
  return database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const DatastoreSpec spec, find_datastore(writer, workspace, name));
    if (spec.is_default)
      return fail(ErrorCode::kConflict, fmt::format("the datastore '{}' is the default one", spec.name),
                  fmt::format("choose another first: slipway datastore set-default {}", kOwnStore));
    return writer.run("DELETE FROM datastores WHERE workspace = ? AND name = ?", {workspace, spec.name});
  });
}

Status Datastores::set_default(const WorkspaceName& workspace, const std::string& name) {
  return database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const DatastoreSpec spec, find_datastore(writer, workspace, name));
    return writer.run(
        "INSERT INTO default_datastores (workspace, datastore) VALUES (?, ?) ON CONFLICT (workspace) DO "
        "UPDATE "
        "SET datastore = excluded.datastore",
        {workspace, spec.name});
  });
}

Result<SecretHeaders> Datastores::headers_of(const WorkspaceName& workspace, const std::string& name) {
  std::string sealed;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) {
    return reader.query("SELECT credentials FROM datastores WHERE workspace = ? AND name = ?",
                        {workspace, name}, [&](const store::Row& row) { sealed = row.text(0); });
  }));
  if (sealed.empty()) return SecretHeaders();
  SLIPWAY_ASSIGN(const Secret text, seal_.open(sealed, seal_about(workspace, name)));
  return parse_credentials(text);
}

Result<OpenDatastore> Datastores::open(const WorkspaceName& workspace, const std::string& name) {
  SLIPWAY_ASSIGN(const DatastoreSpec spec, find(workspace, name));
  OpenDatastore opened{.name = spec.name, .store = nullptr};
  switch (spec.kind) {
    case SourceKind::kWorkspace:
      opened.store = std::make_shared<WorkspaceDatastore>(database_, blobs_, clock_, workspace, spec.name);
      break;
    case SourceKind::kFolder: {
      SLIPWAY_ASSIGN(opened.store, FolderDatastore::open(spec.location));
      break;
    }
    case SourceKind::kHttp: {
      SLIPWAY_ASSIGN(const Url url, parse_url(spec.location));
      SLIPWAY_ASSIGN(SecretHeaders headers, headers_of(workspace, spec.name));
      opened.store = std::make_shared<HttpDatastore>(url, std::move(headers));
      break;
    }
  }
  return opened;
}

Result<SourceAccess> Datastores::access(const WorkspaceName& workspace, const Source& source) {
  SourceAccess access{.source = source, .location = source.location, .headers = {}};
  if (source.datastore.empty()) return access;
  SLIPWAY_ASSIGN(const DatastoreSpec spec, find(workspace, source.datastore));
  if (spec.kind != source.kind)
    return fail(
        ErrorCode::kConflict,
        fmt::format("the datastore '{}' is of another kind than when the dataset was made", spec.name),
        "create the dataset again");
  access.location = spec.location;
  SLIPWAY_ASSIGN(access.headers, headers_of(workspace, spec.name));
  return access;
}

}  // namespace slipway::data

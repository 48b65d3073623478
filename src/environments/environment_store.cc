#include "environments/environment_store.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "base/log.h"
#include "environments/curated.h"
#include "environments/environment.h"
#include "environments/line_text.h"

namespace slipway::environments {
namespace {

constexpr std::string_view kColumns =
    "e.name, e.version, e.definition, e.description, e.tags, e.created_at, e.created_by";

// Columns that Slipway itself wrote: what cannot be read there is a broken store, not bad input.
json::object document(std::string_view text, std::string_view what) {
  auto object = parse_json_object(text, what);
  if (!object) abort_because(fmt::format("{} cannot be read: {}", what, object.error().message));
  return std::move(*object);
}

Environment read_environment(const store::Row& row) {
  Environment environment;
  environment.name = row.text(0);
  environment.version = static_cast<int>(row.integer(1));
  auto definition = environment_definition_from_json(document(row.text(2), "a stored environment"));
  if (!definition)
    abort_because(fmt::format("the stored environment {} cannot be read: {}", environment.reference(),
                              definition.error().message));
  environment.definition = std::move(*definition);
  environment.description = row.text(3);
  for (const auto& tag : document(row.text(4), "the tags of a stored environment"))
    if (tag.value().is_string()) environment.tags.emplace(tag.key(), tag.value().get_string());
  environment.created_at = row.time(5);
  environment.created_by = row.text(6);
  return environment;
}

Result<std::vector<Environment>> select(store::Reader& reader, std::string_view rest,
                                        const store::Values& values) {
  std::vector<Environment> found;
  SLIPWAY_TRY(reader.query(fmt::format("SELECT {} FROM environments e WHERE {}", kColumns, rest), values,
                           [&](const store::Row& row) { found.push_back(read_environment(row)); }));
  return found;
}

auto no_such_environment(const EnvironmentReference& reference) {
  return fail(ErrorCode::kNotFound,
              reference.version == 0 ? fmt::format("there is no environment '{}'", shown(reference.name, 128))
                                     : fmt::format("there is no version {} of environment '{}'",
                                                   reference.version, shown(reference.name, 128)),
              reference.version == 0
                  ? "slipway env list shows what there is"
                  : fmt::format("slipway env versions {} shows what there is", shown(reference.name, 128)));
}

}  // namespace

Status check_new_name(std::string_view name) {
  if (name.starts_with(kCuratedPrefix))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is shipped with Slipway and cannot be changed", shown(name)),
                fmt::format("clone it first: slipway env clone {} my-environment", shown(name)));
  SLIPWAY_TRY(check_name(name, "environment", 128));
  if (is_reserved_name(name))
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' begins with AzureML or Microsoft, which are reserved", name),
        fmt::format("clone it first, under a name of your own: slipway env clone {} my-environment", name));
  if (name == kSystem || name == kAnonymous)
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is a name that Slipway uses itself", name),
                "choose another name");
  return {};
}

Result<Registered> register_environment(store::Writer& writer, const WorkspaceName& workspace,
                                        Environment environment, Timestamp now) {
  if (environment.name.empty()) {
    environment.name = kAnonymous;
  } else {
    SLIPWAY_TRY(check_new_name(environment.name));
  }
  const std::string definition = json::serialize(to_json(environment.definition));
  const std::string digest = Digest::of(definition).hex();
  SLIPWAY_ASSIGN(auto same, select(writer,
                                   "e.workspace = ? AND e.name = ? AND e.digest = ? AND e.deleted_at IS NULL "
                                   "ORDER BY e.version DESC LIMIT 1",
                                   {workspace, environment.name, digest}));
  if (!same.empty()) return Registered{.environment = std::move(same.front()), .made = false};
  int64_t version = 1;
  SLIPWAY_TRY(writer.query("SELECT MAX(version) FROM environments WHERE workspace = ? AND name = ?",
                           {workspace, environment.name},
                           [&](const store::Row& row) { version = row.maybe_integer(0).value_or(0) + 1; }));
  environment.version = static_cast<int>(version);
  environment.created_at = now;
  SLIPWAY_TRY(writer.run(
      "INSERT INTO environments (workspace, name, version, definition, digest, description, tags, "
      "created_at, "
      "created_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      {workspace, environment.name, environment.version, definition, digest, environment.description,
       json::serialize(to_json(environment.tags)), now, environment.created_by}));
  return Registered{.environment = std::move(environment), .made = true};
}

Result<Environment> load_environment(store::Reader& reader, const WorkspaceName& workspace,
                                     const EnvironmentReference& reference, Deleted deleted) {
  std::string rest = "e.workspace = ? AND e.name = ?";
  store::Values values{workspace, reference.name};
  if (reference.version > 0) {
    rest += " AND e.version = ?";
    values.emplace_back(reference.version);
  }
  if (deleted == Deleted::kHidden) rest += " AND e.deleted_at IS NULL";
  SLIPWAY_ASSIGN(auto found, select(reader, rest + " ORDER BY e.version DESC LIMIT 1", values));
  if (found.empty()) return no_such_environment(reference);
  return std::move(found.front());
}

Result<std::vector<Environment>> list_environments(store::Reader& reader, const WorkspaceName& workspace,
                                                   const std::string& after, int64_t limit) {
  return select(
      reader,
      "e.workspace = ? AND e.name > ? AND e.name <> ? AND e.deleted_at IS NULL AND e.version = "
      "(SELECT MAX(n.version) FROM environments n WHERE n.workspace = e.workspace AND n.name = e.name AND "
      "n.deleted_at IS NULL) ORDER BY e.name LIMIT ?",
      {workspace, after, kAnonymous, limit});
}

Result<std::vector<Environment>> list_versions(store::Reader& reader, const WorkspaceName& workspace,
                                               const std::string& name, int64_t before, int64_t limit) {
  SLIPWAY_TRY(load_environment(reader, workspace, {.name = name, .version = 0}));
  return select(reader,
                "e.workspace = ? AND e.name = ? AND e.version < ? AND e.deleted_at IS NULL "
                "ORDER BY e.version DESC LIMIT ?",
                {workspace, name, before, limit});
}

Status delete_environment(store::Writer& writer, const WorkspaceName& workspace,
                          const EnvironmentReference& reference, Timestamp now) {
  if (reference.name.starts_with(kCuratedPrefix) || is_reserved_name(reference.name))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is shipped with Slipway and cannot be deleted", shown(reference.name)));
  SLIPWAY_ASSIGN(const int64_t changed,
                 writer.execute("UPDATE environments SET deleted_at = ? WHERE workspace = ? AND name = ? AND "
                                "(version = ? OR ? = 0) AND deleted_at IS NULL",
                                {now, workspace, reference.name, reference.version, reference.version}));
  if (changed == 0) return no_such_environment(reference);
  return {};
}

Status delete_environments_of(store::Writer& writer, const WorkspaceName& workspace) {
  for (const std::string_view statement :
       {"DELETE FROM environments WHERE workspace = ?", "DELETE FROM environment_locks WHERE workspace = ?",
        "DELETE FROM environment_substitutions WHERE workspace = ?"})
    SLIPWAY_TRY(writer.run(statement, {workspace}));
  return {};
}

}  // namespace slipway::environments

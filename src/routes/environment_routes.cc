// Environments, their locks and the rules of substitution.
#include <fmt/format.h>

#include "environments/curated.h"
#include "environments/definition.h"
#include "environments/definition_files.h"
#include "environments/key.h"
#include "environments/lock_store.h"
#include "environments/packages.h"
#include "environments/resolution.h"
#include "environments/substitution_store.h"
#include "environments/substitutions.h"
#include "routes/request.h"
#include "routes/services.h"

namespace slipway::routes {
namespace {

using environments::Environment;
using environments::Resolved;
using environments::StoredLock;
using http::Access;
using http::Method;
using http::Request;
using http::Response;

constexpr size_t kLongestDescription = 4096;
constexpr size_t kMostTags = 200;

Result<Resolved> environment_of(store::Reader& reader, const Request& request) {
  const std::string& text = request.param("environment");
  SLIPWAY_ASSIGN(Resolved resolved, environments::resolve_environment(reader, workspace_of(request), text));
  if (resolved.key.empty())
    return fail(ErrorCode::kNotFound,
                fmt::format("'{}' is the node's own programs: nothing is defined", text),
                "slipway env list shows what there is");
  return resolved;
}

Result<Resolved> environment_of(Services& services, const Request& request) {
  Resolved resolved;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(resolved, environment_of(reader, request));
    return {};
  }));
  return resolved;
}

// The listed ones need no look-up: the rules of the workspace are read once.
json::object described(Environment environment, const std::vector<Substitution>& rules) {
  Resolved resolved;
  resolved.curated = environment.name.starts_with(environments::kCuratedPrefix);
  resolved.environment = std::move(environment);
  resolved.substitutions = rules;
  resolved.key = environments::environment_key(
      environments::apply_substitutions(resolved.environment.definition, rules).definition);
  return environments::to_json(resolved);
}

Result<Response> list_curated(const std::vector<Substitution>& rules) {
  json::array items;
  for (const environments::CuratedEnvironment& curated : environments::curated_environments())
    items.push_back(described(environments::from_curated(curated), rules));
  return page(std::move(items));
}

Result<Response> list(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  SLIPWAY_ASSIGN(const std::string after, name_cursor_of(request));
  std::vector<Environment> found;
  std::vector<Substitution> rules;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(rules, environments::list_substitutions(reader, workspace_of(request)));
    SLIPWAY_ASSIGN(found, environments::list_environments(reader, workspace_of(request), after, limit));
    return {};
  }));
  if (request.query_value("curated") == "true") return list_curated(rules);
  json::array items;
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) == limit) next = found.back().name;
  for (Environment& environment : found) items.push_back(described(std::move(environment), rules));
  return page(std::move(items), next);
}

// A definition in fields, in files, or both: files are added to what the fields say.
Result<EnvironmentDefinition> definition_of(const json::object& fields, const json::object& files) {
  using environments::DefinitionFile;
  SLIPWAY_ASSIGN(EnvironmentDefinition definition, environment_definition_from_json(fields));
  std::string conda, requirements, pyproject;
  JsonFields texts(files, "the environment's files");
  texts.optional("conda", conda);
  texts.optional("requirements", requirements);
  texts.optional("pyproject", pyproject);
  SLIPWAY_TRY(texts.finish());
  const auto add = [&](DefinitionFile kind, const std::string& text, const std::string& name) -> Status {
    if (text.empty()) return {};
    return environments::add_definition_file(kind, text, name, environments::nothing_to_include, definition);
  };
  SLIPWAY_TRY(add(DefinitionFile::kConda, conda, "conda file"));
  SLIPWAY_TRY(add(DefinitionFile::kRequirements, requirements, "requirements"));
  SLIPWAY_TRY(add(DefinitionFile::kPyproject, pyproject, "pyproject.toml"));
  return environments::checked_definition(std::move(definition));
}

Result<Environment> new_environment(const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the environment"));
  Environment environment;
  json::object definition, files;
  std::optional<std::string> name;
  JsonFields fields(body, "the environment");
  fields.optional("name", name);
  fields.optional("description", environment.description);
  fields.optional("tags", environment.tags);
  fields.optional("definition", definition);
  fields.optional("files", files);
  SLIPWAY_TRY(fields.finish());
  if (name) {
    SLIPWAY_TRY(environments::check_new_name(*name));
    environment.name = *name;
  }
  if (environment.description.size() > kLongestDescription)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the description is longer than {} bytes", kLongestDescription));
  if (environment.tags.size() > kMostTags)
    return fail(ErrorCode::kInvalidArgument, fmt::format("an environment has at most {} tags", kMostTags));
  SLIPWAY_ASSIGN(environment.definition, definition_of(definition, files));
  environment.created_by = request.caller.name;
  return environment;
}

// Repeating it is harmless: the same definition under the same name is the same version.
Result<Response> create(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Environment environment, new_environment(request));
  environments::Registered registered;
  std::vector<Substitution> rules;
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(registered, environments::register_environment(writer, workspace_of(request), environment,
                                                                  services.clock.now()));
    SLIPWAY_ASSIGN(rules, environments::list_substitutions(writer, workspace_of(request)));
    return {};
  }));
  return http::json_response(described(std::move(registered.environment), rules),
                             registered.made ? 201 : 200);
}

Result<Response> show(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Resolved resolved, environment_of(services, request));
  return http::json_response(environments::to_json(resolved));
}

std::vector<Environment> curated_versions(const std::string& name) {
  std::vector<Environment> found;
  for (const environments::CuratedEnvironment& curated : environments::curated_environments())
    if (curated.name == name) found.insert(found.begin(), environments::from_curated(curated));
  return found;
}

Result<Response> versions(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  SLIPWAY_ASSIGN(const auto cursor, cursor_of(request));
  SLIPWAY_ASSIGN(const Resolved resolved, environment_of(services, request));
  const std::string name = resolved.environment.name;
  std::vector<Environment> found = curated_versions(name);
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    if (resolved.curated) return {};
    SLIPWAY_ASSIGN(found, environments::list_versions(reader, workspace_of(request), name,
                                                      cursor.value_or(INT64_MAX), limit));
    return {};
  }));
  json::array items;
  std::optional<std::string> next;
  if (!resolved.curated && static_cast<int64_t>(found.size()) == limit)
    next = encode_cursor(found.back().version);
  for (Environment& environment : found)
    items.push_back(described(std::move(environment), resolved.substitutions));
  return page(std::move(items), next);
}

Result<Response> remove(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const EnvironmentReference reference,
                 parse_environment_reference(request.param("environment")));
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) {
    return environments::delete_environment(writer, workspace_of(request), reference, services.clock.now());
  }));
  return http::empty_response();
}

json::object with_packages(const StoredLock& lock) {
  json::object object = environments::to_json(lock);
  json::object packages;
  for (const auto& [name, version] : environments::packages_of_lock(lock.text)) packages[name] = version;
  object["packages"] = std::move(packages);
  return object;
}

Result<Response> locks(Services& services, const Request& request) {
  json::array items;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(const Resolved resolved, environment_of(reader, request));
    SLIPWAY_ASSIGN(const auto found,
                   environments::current_locks(reader, workspace_of(request), resolved.key));
    for (const StoredLock& lock : found) items.push_back(with_packages(lock));
    return {};
  }));
  return page(std::move(items));
}

Result<Response> forget(Services& services, const Request& request) {
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const Resolved resolved, environment_of(writer, request));
    SLIPWAY_TRY(environments::forget_locks(writer, workspace_of(request), resolved.key));
    return {};
  }));
  return http::empty_response();
}

struct DiffSide {
  Resolved resolved;
  std::vector<StoredLock> locks;
};

json::value section(const json::value& from, const json::value& to) {
  if (from == to) return nullptr;
  return json::object{{"from", from}, {"to", to}};
}

json::object container_of(const EnvironmentDefinition& definition) {
  return slipway::to_json(definition).at("container").get_object();
}

// Of locks when both have one, else of what the definitions ask for.
json::object difference(const DiffSide& from, const DiffSide& to) {
  const EnvironmentDefinition& before = from.resolved.environment.definition;
  const EnvironmentDefinition& after = to.resolved.environment.definition;
  const bool locked = !from.locks.empty() && !to.locks.empty();
  const json::array packages =
      locked ? environments::package_changes(environments::packages_of_lock(from.locks.front().text),
                                             environments::packages_of_lock(to.locks.front().text))
             : environments::package_changes(environments::packages_of(before),
                                             environments::packages_of(after));
  return {{"from", from.resolved.reference()},
          {"to", to.resolved.reference()},
          {"same_content", from.resolved.key == to.resolved.key},
          {"locked", locked},
          {"packages", packages},
          {"python", section(json::string(before.python), json::string(after.python))},
          {"channels", section(to_json(before.conda_channels), to_json(after.conda_channels))},
          {"variables", section(to_json(before.variables), to_json(after.variables))},
          {"container", section(container_of(before), container_of(after))},
          {"user_managed", section(before.user_managed, after.user_managed)}};
}

Result<Response> diff(Services& services, const Request& request) {
  std::vector<DiffSide> sides;
  for (const std::string_view name : {"from", "to"}) {
    const auto text = request.query_value(name);
    if (!text)
      return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is missing", name),
                  "name two environments: ?from=tf:1&to=tf:2");
    DiffSide side;
    SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(side.resolved, environments::resolve_environment(reader, workspace_of(request), *text));
      SLIPWAY_ASSIGN(side.locks,
                     environments::current_locks(reader, workspace_of(request), side.resolved.key));
      return {};
    }));
    sides.push_back(std::move(side));
  }
  return http::json_response(difference(sides[0], sides[1]));
}

json::object describe(const Substitution& rule) {
  json::object object = slipway::to_json(rule);
  object["default"] = environments::is_default(rule);
  return object;
}

Result<Response> list_rules(Services& services, const Request& request) {
  std::vector<Substitution> rules;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(rules, environments::list_substitutions(reader, workspace_of(request)));
    return {};
  }));
  json::array items;
  for (const Substitution& rule : rules) items.push_back(describe(rule));
  return page(std::move(items));
}

Result<Response> add_rule(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the substitution"));
  SLIPWAY_ASSIGN(const Substitution rule, substitution_from_json(body));
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) {
    return environments::add_substitution(writer, workspace_of(request), rule);
  }));
  return http::json_response(describe(rule), 201);
}

Result<Response> remove_rule(Services& services, const Request& request) {
  const auto kind = request.query_value("kind");
  const auto from = request.query_value("from");
  if (!kind || !from)
    return fail(ErrorCode::kInvalidArgument, "'kind' or 'from' is missing",
                "name the rule: ?kind=package&from=tensorflow-gpu");
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) {
    return environments::remove_substitution(writer, workspace_of(request), *kind, *from);
  }));
  return http::empty_response();
}

}  // namespace

std::vector<RouteRow> environment_routes() {
  const std::string workspace = "/api/v1/workspaces/{workspace}";
  const std::string environments = workspace + "/environments";
  const std::string rules = workspace + "/environment-substitutions";
  return {
      {Method::kGet, environments, Access::kReader, list},
      {Method::kPost, environments, Access::kContributor, create},
      {Method::kGet, environments + "/{environment}", Access::kReader, show},
      {Method::kDelete, environments + "/{environment}", Access::kContributor, remove},
      {Method::kGet, environments + "/{environment}/versions", Access::kReader, versions},
      {Method::kGet, environments + "/{environment}/locks", Access::kReader, locks},
      {Method::kDelete, environments + "/{environment}/locks", Access::kContributor, forget},
      {Method::kGet, workspace + "/environment-diff", Access::kReader, diff},
      {Method::kGet, rules, Access::kReader, list_rules},
      {Method::kPost, rules, Access::kOwner, add_rule},
      {Method::kDelete, rules, Access::kOwner, remove_rule},
  };
}

}  // namespace slipway::routes

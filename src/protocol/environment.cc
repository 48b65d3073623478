#include "protocol/environment.h"

#include <fmt/format.h>

#include <charconv>

namespace slipway {
namespace {

constexpr size_t kMaxPackages = 2000;
constexpr size_t kMaxLine = 2048;
constexpr size_t kMaxDockerfile = 256 << 10;

Status refuse(std::string message, std::string next = "") {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(next));
}

// Lines go into files that a resolver reads: one entry must stay one line.
Status check_lines(const std::vector<std::string>& lines, std::string_view field) {
  if (lines.size() > kMaxPackages)
    return refuse(fmt::format("the environment has more than {} entries in '{}'", kMaxPackages, field));
  for (const std::string& line : lines) {
    if (line.empty() || line.size() > kMaxLine)
      return refuse(
          fmt::format("the environment: an entry of '{}' is empty or longer than {} bytes", field, kMaxLine));
    for (const char c : line)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        return refuse(fmt::format("the environment: an entry of '{}' holds a control character", field));
  }
  return {};
}

Status check_line(const std::string& line, std::string_view field) {
  return line.empty() ? Status{} : check_lines({line}, field);
}

json::object container_to_json(const ContainerSettings& container) {
  return {{"enabled", container.enabled},
          {"image", container.image},
          {"dockerfile", container.dockerfile},
          {"shm_size", container.shm_size},
          {"arguments", to_json(container.arguments)},
          {"registry",
           json::object{{"address", container.registry_address}, {"username", container.registry_username}}}};
}

Result<ContainerSettings> container_from_json(const json::object& object) {
  ContainerSettings container;
  json::object registry;
  JsonFields fields(object, "the environment's container");
  fields.optional("enabled", container.enabled);
  fields.optional("image", container.image);
  fields.optional("dockerfile", container.dockerfile);
  fields.optional("shm_size", container.shm_size);
  fields.optional("arguments", container.arguments);
  fields.optional("registry", registry);
  SLIPWAY_TRY(fields.finish());
  JsonFields registry_fields(registry, "the environment's image registry");
  registry_fields.optional("address", container.registry_address);
  registry_fields.optional("username", container.registry_username);
  SLIPWAY_TRY(registry_fields.finish());
  SLIPWAY_TRY(check_line(container.image, "image"));
  SLIPWAY_TRY(check_line(container.shm_size, "shm_size"));
  SLIPWAY_TRY(check_lines(container.arguments, "arguments"));
  SLIPWAY_TRY(check_line(container.registry_address, "registry.address"));
  SLIPWAY_TRY(check_line(container.registry_username, "registry.username"));
  if (container.dockerfile.size() > kMaxDockerfile)
    return fail(ErrorCode::kTooLarge, "the environment's Dockerfile is larger than 256 KiB");
  if (!container.image.empty() && !container.dockerfile.empty())
    return fail(ErrorCode::kInvalidArgument, "the environment names both an image and a Dockerfile",
                "give one of them");
  return container;
}

}  // namespace

Result<EnvironmentReference> parse_environment_reference(std::string_view text) {
  constexpr std::string_view kCurated = "curated/";
  EnvironmentReference reference;
  std::string_view name = text;
  if (const size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    const std::string_view version = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(version.data(), version.data() + version.size(), reference.version);
    if (error != std::errc{} || end != version.data() + version.size() || reference.version < 1)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is no version of an environment", version.substr(0, 32)),
                  "write NAME:VERSION with a number from 1, or NAME for the newest");
    name = text.substr(0, colon);
  }
  SLIPWAY_TRY(
      check_name(name.starts_with(kCurated) ? name.substr(kCurated.size()) : name, "environment", 128));
  reference.name = std::string(name);
  return reference;
}

json::object to_json(const EnvironmentDefinition& definition) {
  return {{"python", definition.python},
          {"pip", to_json(definition.pip)},
          {"conda", to_json(definition.conda)},
          {"conda_channels", to_json(definition.conda_channels)},
          {"variables", to_json(definition.variables)},
          {"user_managed", definition.user_managed},
          {"interpreter", definition.interpreter},
          {"container", container_to_json(definition.container)}};
}

Result<EnvironmentDefinition> environment_definition_from_json(const json::object& object) {
  EnvironmentDefinition definition;
  json::object container;
  JsonFields fields(object, "the environment");
  fields.optional("python", definition.python);
  fields.optional("pip", definition.pip);
  fields.optional("conda", definition.conda);
  fields.optional("conda_channels", definition.conda_channels);
  fields.optional("variables", definition.variables);
  fields.optional("user_managed", definition.user_managed);
  fields.optional("interpreter", definition.interpreter);
  fields.optional("container", container);
  SLIPWAY_TRY(fields.finish());
  SLIPWAY_TRY(check_line(definition.python, "python"));
  SLIPWAY_TRY(check_lines(definition.pip, "pip"));
  SLIPWAY_TRY(check_lines(definition.conda, "conda"));
  SLIPWAY_TRY(check_lines(definition.conda_channels, "conda_channels"));
  SLIPWAY_TRY(check_line(definition.interpreter, "interpreter"));
  SLIPWAY_ASSIGN(definition.container, container_from_json(container));
  return definition;
}

json::object to_json(const Substitution& rule) {
  return {{"kind", rule.kind}, {"from", rule.from}, {"to", rule.to}};
}

Result<Substitution> substitution_from_json(const json::object& object) {
  Substitution rule;
  JsonFields fields(object, "the substitution");
  fields.required("kind", rule.kind);
  fields.required("from", rule.from);
  fields.optional("to", rule.to);
  SLIPWAY_TRY(fields.finish());
  if (rule.kind != "package" && rule.kind != "python" && rule.kind != "image")
    return fail(ErrorCode::kInvalidArgument,
                "the substitution: field 'kind' must be package, python or image");
  SLIPWAY_TRY(check_lines({rule.from}, "from"));
  SLIPWAY_TRY(check_line(rule.to, "to"));
  return rule;
}

json::object to_json(const EnvironmentOrder& order) {
  json::array rules;
  for (const Substitution& rule : order.substitutions) rules.push_back(to_json(rule));
  return {{"name", order.name},
          {"version", order.version},
          {"key", order.key},
          {"definition", to_json(order.definition)},
          {"substitutions", std::move(rules)},
          {"note", order.note},
          {"lock", order.lock}};
}

Result<EnvironmentOrder> environment_order_from_json(const json::object& object) {
  EnvironmentOrder order;
  json::object definition;
  json::array rules;
  JsonFields fields(object, "the order's environment");
  fields.optional("name", order.name);
  fields.optional("version", order.version);
  fields.optional("key", order.key);
  fields.optional("definition", definition);
  fields.optional("substitutions", rules);
  fields.optional("note", order.note);
  fields.optional("lock", order.lock);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_ASSIGN(order.definition, environment_definition_from_json(definition));
  for (const json::value& rule : rules) {
    if (!rule.is_object())
      return fail(ErrorCode::kInvalidArgument, "a substitution of the order is not an object");
    SLIPWAY_ASSIGN(Substitution parsed, substitution_from_json(rule.get_object()));
    order.substitutions.push_back(std::move(parsed));
  }
  return order;
}

}  // namespace slipway

#include "client/api.h"

namespace slipway::client {

Result<json::array> Api::environments() {
  return requests_.list(connection().in_workspace("/environments"));
}

Result<json::object> Api::environment(std::string_view reference) {
  return requests_.get(path("environments", reference));
}

Result<json::array> Api::environment_versions(std::string_view name) {
  return requests_.list(path("environments", name) + "/versions");
}

Result<json::array> Api::environment_locks(std::string_view reference) {
  return requests_.list(path("environments", reference) + "/locks");
}

Result<json::object> Api::create_environment(const EnvironmentDefinition& definition, std::string_view name) {
  json::object body{{"definition", to_json(definition)}};
  if (!name.empty()) body.emplace("name", name);
  return requests_.create(connection().in_workspace("/environments"), body);
}

Result<json::object> Api::diff_environments(std::string_view from, std::string_view to) {
  return requests_.get(connection().in_workspace("/environment-diff") +
                       to_text({{"from", std::string(from)}, {"to", std::string(to)}}));
}

Status Api::delete_environment(std::string_view reference) {
  return requests_.remove(path("environments", reference));
}

}  // namespace slipway::client

#include "environments/azure_form.h"

#include <fmt/format.h>

#include "environments/conda_file.h"
#include "environments/definition.h"

namespace slipway::environments {
namespace {

json::value text_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return json::string(text);
}

json::object docker_json(const ContainerSettings& container) {
  return {{"enabled", container.enabled},
          {"baseImage", text_or_null(container.image)},
          {"baseDockerfile", nullptr},  // stands in a file of its own
          {"baseImageRegistry", json::object{{"address", text_or_null(container.registry_address)},
                                             {"username", text_or_null(container.registry_username)},
                                             {"password", nullptr},
                                             {"registryIdentity", nullptr}}},
          {"platform", json::object{{"os", "Linux"}, {"architecture", "amd64"}}},
          {"shmSize", container.shm_size},
          {"arguments", to_json(container.arguments)},
          {"sharedVolumes", true}};
}

std::string text_in(const FileTexts& files, std::string_view name) {
  const auto found = files.find(name);
  return found == files.end() ? "" : found->second;
}

Result<ContainerSettings> container_from(const json::object& docker, std::string dockerfile) {
  ContainerSettings container;
  json::object registry;
  JsonFields fields(docker, "azureml_environment.json: docker");
  fields.optional("enabled", container.enabled);
  fields.optional("baseImage", container.image);
  fields.optional("baseDockerfile", container.dockerfile);
  fields.optional("shmSize", container.shm_size);
  fields.optional("arguments", container.arguments);
  fields.optional("baseImageRegistry", registry);
  SLIPWAY_TRY(fields.finish_lenient());
  if (!dockerfile.empty()) container.dockerfile = std::move(dockerfile);
  JsonFields registry_fields(registry, "azureml_environment.json: docker.baseImageRegistry");
  registry_fields.optional("address", container.registry_address);
  registry_fields.optional("username", container.registry_username);
  SLIPWAY_TRY(registry_fields.finish_lenient());
  if (!container.image.empty() && !container.dockerfile.empty())
    return fail(ErrorCode::kInvalidArgument, "the environment names both an image and a Dockerfile",
                "keep one: set docker.baseImage to null, or remove BaseDockerfile");
  return container;
}

// JSON is YAML too, so the conda reader takes the form that stands inside the JSON file.
Status add_packages(const json::object& python, const FileTexts& files, EnvironmentDefinition& definition) {
  std::string text = text_in(files, kAzureCondaFile);
  std::string name(kAzureCondaFile);
  if (text.empty()) {
    const json::value* inside = python.if_contains("condaDependencies");
    if (inside == nullptr || !inside->is_object()) return {};
    text = json::serialize(*inside);
    name = kAzureFile;
  }
  SLIPWAY_ASSIGN(const CondaFile conda, parse_conda_file(text, name, nothing_to_include));
  definition.python = conda.definition.python;
  definition.pip = conda.definition.pip;
  definition.conda = conda.definition.conda;
  definition.conda_channels = conda.definition.conda_channels;
  return {};
}

}  // namespace

FileTexts to_azure_files(const Environment& environment) {
  const EnvironmentDefinition& definition = environment.definition;
  json::object document{
      {"name", environment.name},
      {"version",
       environment.version == 0 ? json::value(nullptr) : json::value(std::to_string(environment.version))},
      {"environmentVariables", to_json(definition.variables)},
      {"python", json::object{{"interpreterPath", definition.interpreter},
                              {"userManagedDependencies", definition.user_managed},
                              {"condaDependenciesFile", nullptr},
                              {"baseCondaEnvironment", nullptr}}},
      {"docker", docker_json(definition.container)},
      {"spark",
       json::object{
           {"repositories", json::array()}, {"packages", json::array()}, {"precachePackages", true}}},
      {"inferencingStackVersion", nullptr}};
  FileTexts files;
  files.emplace(kAzureFile, json::serialize(document) + "\n");
  if (!definition.user_managed)
    files.emplace(kAzureCondaFile, conda_file_text(definition, "project_environment"));
  if (!definition.container.dockerfile.empty())
    files.emplace(kAzureDockerfile, definition.container.dockerfile);
  return files;
}

Result<Environment> from_azure_files(const FileTexts& files) {
  SLIPWAY_ASSIGN(const json::object document, parse_json_object(text_in(files, kAzureFile), kAzureFile));
  Environment environment;
  json::object python, docker;
  JsonFields fields(document, kAzureFile);
  fields.optional("name", environment.name);
  fields.optional("environmentVariables", environment.definition.variables);
  fields.optional("python", python);
  fields.optional("docker", docker);
  SLIPWAY_TRY(fields.finish_lenient());
  JsonFields python_fields(python, "azureml_environment.json: python");
  python_fields.optional("interpreterPath", environment.definition.interpreter);
  python_fields.optional("userManagedDependencies", environment.definition.user_managed);
  SLIPWAY_TRY(python_fields.finish_lenient());
  SLIPWAY_TRY(add_packages(python, files, environment.definition));
  SLIPWAY_ASSIGN(environment.definition.container, container_from(docker, text_in(files, kAzureDockerfile)));
  SLIPWAY_ASSIGN(environment.definition, checked_definition(std::move(environment.definition)));
  return environment;
}

}  // namespace slipway::environments

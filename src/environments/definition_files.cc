#include "environments/definition_files.h"

#include <fmt/format.h>

#include "environments/conda_file.h"
#include "environments/definition.h"
#include "environments/line_text.h"
#include "environments/pyproject.h"

namespace slipway::environments {
namespace {

void append(std::vector<std::string>& to, std::vector<std::string> from) {
  for (std::string& line : from) to.push_back(std::move(line));
}

void merge(EnvironmentDefinition&& from, EnvironmentDefinition& to) {
  if (to.python.empty()) to.python = std::move(from.python);
  append(to.pip, std::move(from.pip));
  append(to.conda, std::move(from.conda));
  append(to.conda_channels, std::move(from.conda_channels));
  to.variables.merge(from.variables);
}

}  // namespace

Result<DefinitionFile> kind_of_definition_file(std::string_view file_name) {
  const std::string name = lowered(file_name.substr(file_name.rfind('/') + 1));
  if (name.ends_with(".yml") || name.ends_with(".yaml")) return DefinitionFile::kConda;
  if (name == "pyproject.toml") return DefinitionFile::kPyproject;
  if (name.ends_with("dockerfile") || name.starts_with("dockerfile.") || name == "containerfile")
    return DefinitionFile::kDockerfile;
  if (name.ends_with(".txt") || name.ends_with(".in")) return DefinitionFile::kRequirements;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is no file that describes an environment", shown(file_name)),
              "known are requirements (*.txt), conda files (*.yml, *.yaml), pyproject.toml and Dockerfile");
}

Status add_definition_file(DefinitionFile kind, std::string_view text, const std::string& file_name,
                           const ReadIncluded& include, EnvironmentDefinition& definition) {
  switch (kind) {
    case DefinitionFile::kConda: {
      SLIPWAY_ASSIGN(CondaFile file, parse_conda_file(text, file_name, include));
      merge(std::move(file.definition), definition);
      return {};
    }
    case DefinitionFile::kRequirements: {
      SLIPWAY_ASSIGN(auto lines, read_requirements(text, file_name, include));
      append(definition.pip, std::move(lines));
      return {};
    }
    case DefinitionFile::kPyproject: {
      SLIPWAY_ASSIGN(EnvironmentDefinition project, parse_pyproject(text, file_name));
      merge(std::move(project), definition);
      return {};
    }
    case DefinitionFile::kDockerfile:
      SLIPWAY_TRY(check_dockerfile(text, file_name));
      definition.container.enabled = true;
      definition.container.dockerfile = std::string(text);
      return {};
  }
  return {};
}

}  // namespace slipway::environments

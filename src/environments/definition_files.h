// The files people describe an environment with, each added to a definition. Pure but for the reader of
// included files they are given.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "environments/requirements.h"
#include "protocol/environment.h"

namespace slipway::environments {

enum class DefinitionFile { kConda, kRequirements, kPyproject, kDockerfile };

// By its name: *.yml and *.yaml are conda's, pyproject.toml is itself, Dockerfile and *.Dockerfile are
// Docker's,
// *.txt and *.in are requirements. kInvalidArgument for another.
Result<DefinitionFile> kind_of_definition_file(std::string_view file_name);

// Adds what the file says to `definition`. A Python version in a file replaces one that is not given yet;
// packages, channels and variables are added. Errors begin with the place in the file.
Status add_definition_file(DefinitionFile kind, std::string_view text, const std::string& file_name,
                           const ReadIncluded& include, EnvironmentDefinition& definition);

}  // namespace slipway::environments

// What a pyproject.toml says about the environment a project needs.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/environment.h"

namespace slipway::environments {

// A small reader of its own takes what is needed; the rest only has to look like TOML. `requires-python` and
// `dependencies` of [project]. The project itself is not installed: a job imports it from its source folder.
// Errors begin with the place: "pyproject.toml:3:1: ...".
Result<EnvironmentDefinition> parse_pyproject(std::string_view text, const std::string& file_name);

}  // namespace slipway::environments

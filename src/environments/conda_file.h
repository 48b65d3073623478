// conda's environment file: read into a definition, and written from one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "environments/requirements.h"
#include "protocol/environment.h"

namespace slipway::environments {

struct CondaFile {
  std::string name;  // as the file says; may be empty
  EnvironmentDefinition
      definition;  // python, pip, conda, conda_channels and variables; the rest as it is born
};

// `python` and `pip` are taken out of the dependencies; the pip section may name requirements files of the
// same folder. Errors begin with the place, "env.yml:4:5: ...", for a broken line of YAML as for a wrong
// entry.
Result<CondaFile> parse_conda_file(std::string_view text, const std::string& file_name,
                                   const ReadIncluded& include);

// The definition's packages as conda tools read them, with `pip` where there are pip packages. `name` may be
// empty.
std::string conda_file_text(const EnvironmentDefinition& definition, std::string_view name);

}  // namespace slipway::environments

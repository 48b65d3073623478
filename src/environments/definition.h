// The rules a definition must keep beyond the form of its fields (protocol/environment.h).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/environment.h"

namespace slipway::environments {

// The definition in canonical form: requirement lines, match specifications and options as their readers
// write them. kInvalidArgument, naming the entry, for a line that is none, a version that cannot be one, an
// image name or a Dockerfile that cannot work, an option of the container that is not allowed, and a
// container without an image.
Result<EnvironmentDefinition> checked_definition(EnvironmentDefinition definition);

// A Dockerfile is built without a folder beside it: kInvalidArgument for one without FROM and for COPY or ADD
// of local files, with the line.
Status check_dockerfile(std::string_view text, std::string_view file_name);

}  // namespace slipway::environments

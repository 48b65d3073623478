// The name of an environment's content.
#pragma once

#include <string>

#include "protocol/environment.h"

namespace slipway::environments {

// 64 hexadecimal digits over what decides what is built: Python, packages and channels, the options of the
// resolver, the image or Dockerfile when a container is used, the interpreter of a user-managed one. Never a
// name, a version, variables, or what only concerns running (shared memory, more arguments). The order of the
// packages and how their names are written make no difference.
//
// Give it the definition with its substitutions applied (substitutions.h).
std::string environment_key(const EnvironmentDefinition& definition);

// Whether there is anything to build: false for the machine's own interpreter outside a container.
bool needs_build(const EnvironmentDefinition& definition);

}  // namespace slipway::environments

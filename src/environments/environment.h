// Environments: what a job finds when it starts, from a definition by name. Today there is one, the machine's
// own; builders for uv, conda and images come behind the same two calls.
#pragma once

#include <string_view>

#include "base/result.h"

namespace slipway::environments {

constexpr std::string_view kSystem = "system";

// kInvalidArgument for a name that cannot be one, kUnsupported for one that is not there, with what there is.
Status check_environment(std::string_view name);

}  // namespace slipway::environments

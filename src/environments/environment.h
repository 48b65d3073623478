// The environment that is always there: the node's own programs, nothing built.
#pragma once

#include <string_view>

namespace slipway::environments {

constexpr std::string_view kSystem = "system";

}  // namespace slipway::environments

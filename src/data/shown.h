// Names from outside as they may stand in a message.
#pragma once

#include <string>
#include <string_view>

namespace slipway::data {

// Cut at 200 bytes, control characters hidden, valid UTF-8.
std::string shown(std::string_view name);

}  // namespace slipway::data

// How a runtime's own functions fill in a SlipwayFailure.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "serving/runtimes/slipway_runtime.h"

namespace slipway::serving {

// Null, so that a function can `return set_failure(...)`.
inline std::nullptr_t set_failure(SlipwayFailure* failure, int32_t code, std::string_view message) {
  failure->code = code;
  const size_t length = std::min(message.size(), sizeof failure->message - 1);
  std::memcpy(failure->message, message.data(), length);
  failure->message[length] = '\0';
  return nullptr;
}

}  // namespace slipway::serving

// Base64 for bytes that are no text, where JSON has to carry them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway {

std::string to_base64(std::string_view bytes);
Result<std::string> from_base64(std::string_view text);

}  // namespace slipway

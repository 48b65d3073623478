// Whether bytes are well-formed UTF-8 (no overlong forms, no surrogates, nothing beyond U+10FFFF): a file's
// name is any bytes, a manifest's path is text.
#pragma once

#include <string_view>

namespace slipway::snapshot {

bool is_utf8(std::string_view bytes);

}  // namespace slipway::snapshot

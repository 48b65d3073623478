// JSON written by hand, where a document in between would cost too much.
#pragma once

#include <string>
#include <string_view>

namespace slipway {

// The value in quotes: quotes, backslashes and control characters escaped, everything else as it is. `value`
// is UTF-8.
void append_json_string(std::string& text, std::string_view value);

}  // namespace slipway

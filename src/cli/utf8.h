// Just enough of Unicode to lay out a table.
#pragma once

#include <cstddef>
#include <string_view>

namespace slipway::cli {

struct Utf8 {
  char32_t code = 0;
  size_t size = 1;  // bytes taken; 1 for a byte that is no UTF-8
  bool valid = false;
};

// The first character of `text`, which is not empty. Overlong forms and surrogates are not valid.
Utf8 decode_utf8(std::string_view text);
// C0, C1, DEL, and the marks that turn the direction of text around.
bool is_control(char32_t code);
// 0 for combining marks and joiners, 2 for East Asian wide characters and emoji, else 1.
size_t columns_of(char32_t code);

}  // namespace slipway::cli

// UTF-8 as the standard has it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace slipway {

struct Utf8 {
  char32_t code = 0;
  size_t size = 1;  // bytes taken; 1 for a byte that begins no character
  bool valid = false;
};

// The first character of `text`, which is not empty.
Utf8 decode_utf8(std::string_view text);
// How many bytes from the beginning are whole characters.
size_t valid_utf8_prefix(std::string_view bytes);
// The text with U+FFFD for each byte that belongs to no character, such as those of one that was cut.
std::string to_valid_utf8(std::string_view bytes);
inline bool is_utf8(std::string_view bytes) {
  return valid_utf8_prefix(bytes) == bytes.size();
}

}  // namespace slipway

#include "base/utf8.h"

#include <cstring>

namespace slipway {

Utf8 decode_utf8(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {.code = first, .size = 1, .valid = true};
  size_t size = 0;
  char32_t code = 0;
  char32_t least = 0;
  if (first >= 0xc2 && first < 0xe0) {
    size = 2, code = first & 0x1fU, least = 0x80;
  } else if (first >= 0xe0 && first < 0xf0) {
    size = 3, code = first & 0x0fU, least = 0x800;
  } else if (first >= 0xf0 && first <= 0xf4) {
    size = 4, code = first & 0x07U, least = 0x10000;
  }
  if (size == 0 || size > text.size()) return {};
  for (size_t i = 1; i < size; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0U) != 0x80) return {};
    code = code << 6 | (next & 0x3fU);
  }
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {.code = code, .size = size, .valid = true};
}

size_t valid_utf8_prefix(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    // Logs are mostly ASCII: eight bytes at a time without a high bit need no look.
    if (bytes.size() - at >= 8) {
      unsigned long long word = 0;
      std::memcpy(&word, bytes.data() + at, 8);
      if ((word & 0x8080808080808080ULL) == 0) {
        at += 8;
        continue;
      }
    }
    const Utf8 character = decode_utf8(bytes.substr(at));
    if (!character.valid) return at;
    at += character.size;
  }
  return at;
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string text;
  while (true) {
    const size_t good = valid_utf8_prefix(bytes);
    text += bytes.substr(0, good);
    if (good == bytes.size()) return text;
    text += "\xef\xbf\xbd";
    bytes.remove_prefix(good + 1);
  }
}

}  // namespace slipway

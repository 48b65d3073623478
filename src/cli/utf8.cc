#include "cli/utf8.h"

#include <algorithm>
#include <array>
#include <span>

namespace slipway::cli {
namespace {

struct Range {
  char32_t first, last;
};

constexpr std::array kZeroWide{
    Range{0x0300, 0x036f},   Range{0x0483, 0x0489}, Range{0x0591, 0x05bd}, Range{0x0610, 0x061a},
    Range{0x064b, 0x065f},   Range{0x093c, 0x093c}, Range{0x094d, 0x094d}, Range{0x0e31, 0x0e31},
    Range{0x0e34, 0x0e3a},   Range{0x1ab0, 0x1aff}, Range{0x1dc0, 0x1dff}, Range{0x200b, 0x200d},
    Range{0x20d0, 0x20ff},   Range{0xfe00, 0xfe0f}, Range{0xfe20, 0xfe2f}, Range{0xfeff, 0xfeff},
    Range{0xe0100, 0xe01ef},
};

constexpr std::array kTwoWide{
    Range{0x1100, 0x115f},   Range{0x231a, 0x231b},   Range{0x23e9, 0x23ec},   Range{0x25fd, 0x25fe},
    Range{0x2614, 0x2615},   Range{0x26a1, 0x26a1},   Range{0x2705, 0x2705},   Range{0x274c, 0x274c},
    Range{0x2753, 0x2755},   Range{0x2b1b, 0x2b1c},   Range{0x2b50, 0x2b50},   Range{0x2e80, 0x303e},
    Range{0x3041, 0x33ff},   Range{0x3400, 0x4dbf},   Range{0x4e00, 0x9fff},   Range{0xa000, 0xa4cf},
    Range{0xa960, 0xa97f},   Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6f},
    Range{0xff00, 0xff60},   Range{0xffe0, 0xffe6},   Range{0x1f300, 0x1f64f}, Range{0x1f680, 0x1f6ff},
    Range{0x1f7e0, 0x1f7eb}, Range{0x1f900, 0x1f9ff}, Range{0x1fa70, 0x1faff}, Range{0x20000, 0x3fffd},
};

bool within(std::span<const Range> ranges, char32_t code) {
  const auto after = std::ranges::upper_bound(ranges, code, {}, &Range::first);
  return after != ranges.begin() && code <= std::prev(after)->last;
}

}  // namespace

Utf8 decode_utf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {.code = lead, .size = 1, .valid = true};
  size_t size = 0;
  char32_t code = 0;
  char32_t least = 0;
  if ((lead & 0xe0) == 0xc0) {
    size = 2, code = lead & 0x1f, least = 0x80;
  } else if ((lead & 0xf0) == 0xe0) {
    size = 3, code = lead & 0x0f, least = 0x800;
  } else if ((lead & 0xf8) == 0xf0) {
    size = 4, code = lead & 0x07, least = 0x10000;
  } else {
    return {};
  }
  if (text.size() < size) return {};
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {.code = code, .size = size, .valid = true};
}

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

size_t columns_of(char32_t code) {
  if (code < 0x300) return 1;
  if (within(kZeroWide, code)) return 0;
  return within(kTwoWide, code) ? 2 : 1;
}

}  // namespace slipway::cli

#include "snapshot/utf8.h"

#include <cstdint>

namespace slipway::snapshot {

bool is_utf8(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const auto first = static_cast<unsigned char>(bytes[i]);
    size_t length = 1;
    uint32_t point = first;
    uint32_t least = 0;
    if (first >= 0xf0 && first <= 0xf4) {
      length = 4, point = first & 0x07U, least = 0x10000;
    } else if (first >= 0xe0 && first < 0xf0) {
      length = 3, point = first & 0x0fU, least = 0x800;
    } else if (first >= 0xc2 && first < 0xe0) {
      length = 2, point = first & 0x1fU, least = 0x80;
    } else if (first >= 0x80) {
      return false;
    }
    if (length > bytes.size() - i) return false;
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(bytes[i + k]);
      if ((next & 0xc0U) != 0x80) return false;
      point = point << 6 | (next & 0x3fU);
    }
    if (point < least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return false;
    i += length;
  }
  return true;
}

}  // namespace slipway::snapshot

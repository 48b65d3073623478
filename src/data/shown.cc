#include "data/shown.h"

#include "base/utf8.h"

namespace slipway::data {

std::string shown(std::string_view name) {
  std::string text(name.substr(0, 200));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return to_valid_utf8(text);
}

}  // namespace slipway::data

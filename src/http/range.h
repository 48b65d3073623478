// The Range header (RFC 9110, one range of bytes).
#pragma once

#include <cstdint>
#include <string_view>

namespace slipway::http {

struct ByteRange {
  enum class Kind {
    kWhole,          // no range, several, or one that is not understood: the whole is sent
    kPart,           // offset and length
    kUnsatisfiable,  // beyond the end: 416
  };
  Kind kind = Kind::kWhole;
  uint64_t offset = 0;
  uint64_t length = 0;
};

// `header` is the value of Range, for a content of `size` bytes. A part always lies within the content.
ByteRange parse_range(std::string_view header, uint64_t size);

}  // namespace slipway::http

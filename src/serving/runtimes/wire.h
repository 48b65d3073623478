// Protocol buffer messages, field by field, without the library: the little that is read of a model's files.
// Everything is checked against the end of the bytes; nothing is copied.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace slipway::serving {

struct WireField {
  uint32_t number = 0;
  uint64_t value = 0;      // of a varint or a fixed-width field
  std::string_view bytes;  // of a length-delimited one: text, bytes or a message
  bool delimited = false;
};

// `for (WireReader reader(bytes); const auto field = reader.next();)`
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // nullopt at the end, or where the bytes are no message: `broken` tells which.
  std::optional<WireField> next();
  bool broken() const { return broken_; }

 private:
  std::optional<uint64_t> varint();
  std::optional<uint64_t> fixed(size_t width);
  std::nullopt_t stop();

  std::string_view rest_;
  bool broken_ = false;
};

}  // namespace slipway::serving

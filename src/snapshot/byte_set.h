// A bracket expression of an ignore pattern: "[a-z_]", "[!0-9]", "[[:alpha:]]".
#pragma once

#include <bitset>
#include <optional>
#include <string_view>

namespace slipway::snapshot {

struct ByteSet {
  std::bitset<256> bytes;
  size_t length = 0;  // of the expression, brackets included
};

// Reads the expression that `text` begins with; nullopt when it is malformed.
std::optional<ByteSet> parse_byte_set(std::string_view text);

}  // namespace slipway::snapshot

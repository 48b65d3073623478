// CRC-32C (Castagnoli), by the processor's own instruction where it has one.
#pragma once

#include <cstdint>
#include <string_view>

namespace slipway::journal {

// The checksum of `bytes` after those already covered by `seed`: crc32c(b, crc32c(a)) is the checksum of a +
// b.
uint32_t crc32c(std::string_view bytes, uint32_t seed = 0);

// The same by table alone: what machines without the instruction use, and what tests compare with.
uint32_t crc32c_by_table(std::string_view bytes, uint32_t seed = 0);

}  // namespace slipway::journal

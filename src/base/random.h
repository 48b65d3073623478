// Randomness from the kernel, for ids and tokens.
#pragma once

#include <string>

namespace slipway {

// Raw bytes from getrandom.
std::string random_bytes(size_t count);
// `count` characters of a lower-case alphabet of 32 without i, l, o and u: 5 bits each.
std::string random_base32(size_t count);

}  // namespace slipway

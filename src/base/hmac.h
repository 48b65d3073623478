// HMAC-SHA-256: that who sends a message knows the secret, without sending it.
#pragma once

#include <string>
#include <string_view>

#include "base/secret.h"

namespace slipway {

// In hexadecimal.
std::string hmac_sha256(const Secret& key, std::string_view message);
// In a time that does not depend on where they differ.
bool same_in_constant_time(std::string_view a, std::string_view b);

}  // namespace slipway

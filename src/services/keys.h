// What lets a client into a service: one of its two keys, or a token made from the first one, which ends by
// itself. They are for the service alone; the workspace's tokens open nothing here, nor these anything there.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"

namespace slipway::services {

Secret new_key();

// In constant time.
bool same_key(std::string_view a, std::string_view b);

// Good until `expires`, or until the key is made anew.
Secret make_token(const Secret& key, Timestamp expires);
bool is_good_token(std::string_view token, const Secret& key, Timestamp now);

}  // namespace slipway::services

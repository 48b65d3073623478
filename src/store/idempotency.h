// Creates that may be repeated: the key, the digest of the body and what it made live in one row, written in
// the same transaction as the thing itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "store/database.h"

namespace slipway::store {

struct RequestKey {
  std::string scope;  // a workspace's name, or empty for the installation
  std::string key;    // the Idempotency-Key; empty: none, and nothing is remembered
  Digest body;
};

// What this key made before; nullopt: it is new. kConflict: it came with another body.
Result<std::optional<std::string>> find_made(Reader& reader, const RequestKey& request);
Status remember_made(Writer& writer, const RequestKey& request, std::string_view result, Timestamp now);
// Keys older than `before` may be used again.
Status forget_made(Writer& writer, Timestamp before);

}  // namespace slipway::store

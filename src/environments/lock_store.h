// What environments were resolved to. Of one key and platform one lock is current: the first that a node
// reported, until a rebuild is asked for. Those that were current once stay, so that a rerun can be built
// from the lock the run had.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "store/database.h"

namespace slipway::environments {

struct StoredLock {
  std::string key;
  std::string platform;
  std::string builder;
  std::string text;
  std::string digest;  // SHA-256 of the text
  Timestamp created_at;
  bool current = true;
};

// The fields of an agent's report, checked: a key, a platform and a builder that are words, a text of at most
// 4 MiB. kInvalidArgument.
Result<StoredLock> lock_from_json(const json::object& object);
json::object to_json(const StoredLock& lock);

// Makes `lock` the current one unless there is one; answers which is current now.
Result<StoredLock> take_lock(store::Writer& writer, const WorkspaceName& workspace, StoredLock lock,
                             Timestamp now);
// The current ones of all platforms, newest first.
Result<std::vector<StoredLock>> current_locks(store::Reader& reader, const WorkspaceName& workspace,
                                              const std::string& key);
// One that is or was current; where several platforms have come to the same, that of `platform`.
Result<std::optional<StoredLock>> lock_of_digest(store::Reader& reader, const WorkspaceName& workspace,
                                                 const std::string& key, const std::string& digest,
                                                 const std::string& platform = "");
// The next build resolves anew. The number of locks that were current.
Result<int64_t> forget_locks(store::Writer& writer, const WorkspaceName& workspace, const std::string& key);

}  // namespace slipway::environments

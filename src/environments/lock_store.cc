#include "environments/lock_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "environments/line_text.h"

namespace slipway::environments {
namespace {

constexpr size_t kMaxLock = 4 << 20;
constexpr size_t kMaxWord = 128;

Status check_word(const std::string& word, std::string_view field) {
  const bool good = !word.empty() && word.size() <= kMaxWord &&
                    std::ranges::all_of(word, [](char c) { return c > 0x20 && c < 0x7f; });
  if (good) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the lock: field '{}' must be a word of at most {} characters", field, kMaxWord));
}

Result<std::vector<StoredLock>> select(store::Reader& reader, std::string_view rest,
                                       const store::Values& values) {
  std::vector<StoredLock> found;
  SLIPWAY_TRY(reader.query(
      fmt::format(
          "SELECT key, platform, builder, lock, digest, created_at, current FROM environment_locks WHERE {}",
          rest),
      values, [&](const store::Row& row) {
        found.push_back({.key = std::string(row.text(0)),
                         .platform = std::string(row.text(1)),
                         .builder = std::string(row.text(2)),
                         .text = std::string(row.text(3)),
                         .digest = std::string(row.text(4)),
                         .created_at = row.time(5),
                         .current = row.integer(6) != 0});
      }));
  return found;
}

}  // namespace

Result<StoredLock> lock_from_json(const json::object& object) {
  StoredLock lock;
  JsonFields fields(object, "the lock");
  fields.required("key", lock.key);
  fields.required("platform", lock.platform);
  fields.required("builder", lock.builder);
  fields.required("lock", lock.text);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_TRY(Digest::parse(lock.key));
  SLIPWAY_TRY(check_word(lock.platform, "platform"));
  SLIPWAY_TRY(check_word(lock.builder, "builder"));
  if (lock.text.size() > kMaxLock) return fail(ErrorCode::kTooLarge, "the lock is larger than 4 MiB");
  lock.digest = Digest::of(lock.text).hex();
  return lock;
}

json::object to_json(const StoredLock& lock) {
  return {{"key", lock.key},
          {"platform", lock.platform},
          {"builder", lock.builder},
          {"digest", lock.digest},
          {"created_at", to_iso8601(lock.created_at)},
          {"lock", lock.text}};
}

Result<StoredLock> take_lock(store::Writer& writer, const WorkspaceName& workspace, StoredLock lock,
                             Timestamp now) {
  SLIPWAY_ASSIGN(auto current,
                 select(writer, "workspace = ? AND key = ? AND platform = ? AND current = 1 LIMIT 1",
                        {workspace, lock.key, lock.platform}));
  if (!current.empty()) return std::move(current.front());
  lock.created_at = now;
  lock.current = true;
  SLIPWAY_TRY(writer.run(
      "INSERT INTO environment_locks (workspace, key, platform, digest, builder, lock, created_at, current) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT (workspace, key, platform, digest) DO UPDATE SET current "
      "= 1, "
      "created_at = excluded.created_at",
      {workspace, lock.key, lock.platform, lock.digest, lock.builder, lock.text, now}));
  return lock;
}

Result<std::vector<StoredLock>> current_locks(store::Reader& reader, const WorkspaceName& workspace,
                                              const std::string& key) {
  return select(reader, "workspace = ? AND key = ? AND current = 1 ORDER BY created_at DESC, platform",
                {workspace, key});
}

Result<std::optional<StoredLock>> lock_of_digest(store::Reader& reader, const WorkspaceName& workspace,
                                                 const std::string& key, const std::string& digest,
                                                 const std::string& platform) {
  SLIPWAY_ASSIGN(auto found,
                 select(reader, "workspace = ? AND key = ? AND digest = ? ORDER BY platform = ? DESC LIMIT 1",
                        {workspace, key, digest, platform}));
  if (found.empty()) return std::optional<StoredLock>();
  return std::optional(std::move(found.front()));
}

Result<int64_t> forget_locks(store::Writer& writer, const WorkspaceName& workspace, const std::string& key) {
  return writer.execute(
      "UPDATE environment_locks SET current = 0 WHERE workspace = ? AND key = ? AND current = 1",
      {workspace, key});
}

}  // namespace slipway::environments

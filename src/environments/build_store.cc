#include "environments/build_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "base/digest.h"
#include "base/failpoint.h"
#include "base/json.h"
#include "base/log.h"
#include "base/random.h"

namespace slipway::environments {
namespace fs = std::filesystem;
namespace {

constexpr auto kStoreLockPatience = std::chrono::seconds(30);

json::object to_json(const BuildRecord& record) {
  return {{"id", record.id},
          {"key", record.key},
          {"builder", record.builder},
          {"python", record.python},
          {"lock_digest", record.lock_digest},
          {"seconds", record.seconds},
          {"created_at", record.created_at.micros}};
}

Result<BuildRecord> record_from_json(const json::object& object) {
  BuildRecord record;
  JsonFields fields(object, "the record of a build");
  fields.required("id", record.id);
  fields.required("key", record.key);
  fields.required("builder", record.builder);
  fields.optional("python", record.python);
  fields.optional("lock_digest", record.lock_digest);
  fields.optional("seconds", record.seconds);
  fields.optional("created_at", record.created_at);
  SLIPWAY_TRY(fields.finish_lenient());
  return record;
}

Timestamp modified(const fs::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return {};
  return Timestamp{status.st_mtim.tv_sec * 1'000'000 + status.st_mtim.tv_nsec / 1000};
}

// Counts each file once, however many names it has.
class DiskUse {
 public:
  uint64_t add(const fs::path& folder) {
    const uint64_t before = bytes_;
    std::error_code error;
    for (auto entry = fs::recursive_directory_iterator(folder, error);
         !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      struct stat status{};
      if (::lstat(entry->path().c_str(), &status) != 0) continue;
      if (status.st_nlink > 1 && S_ISREG(status.st_mode) && !seen_.insert(status.st_ino).second) continue;
      bytes_ += static_cast<uint64_t>(status.st_blocks) * 512;
    }
    return bytes_ - before;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  std::set<ino_t> seen_;
  uint64_t bytes_ = 0;
};

void remove_quietly(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) log_warning("environments.not_removed", {{"path", path.string()}, {"error", error.message()}});
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  return names;
}

}  // namespace

std::string BuildStore::build_id(std::string_view key, std::string_view lock) {
  return fmt::format("{}-{}", key.substr(0, 16), Digest::of(lock).hex().substr(0, 16));
}

// Held for moments only, so that waiting for it is short.
Result<FileLock> BuildStore::take_store_lock() const {
  SLIPWAY_TRY(make_folders(folder_ / "builds"));
  const auto end = std::chrono::steady_clock::now() + kStoreLockPatience;
  while (true) {
    SLIPWAY_ASSIGN(std::optional<FileLock> lock, FileLock::try_take(folder_ / "lock"));
    if (lock) return std::move(*lock);
    if (std::chrono::steady_clock::now() >= end)
      return fail(ErrorCode::kUnavailable,
                  fmt::format("the store of environments {} stays locked", folder_.string()));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::optional<BuildRecord> BuildStore::read_record(const std::string& id) const {
  const auto text = read_file(folder_of(id) / "build.json", 1 << 20);
  if (!text) return std::nullopt;
  const auto object = parse_json_object(*text, "build.json");
  if (!object) return std::nullopt;
  auto record = record_from_json(*object);
  return record ? std::optional(std::move(*record)) : std::nullopt;
}

Result<std::optional<BuildRecord>> BuildStore::acquire(const std::string& id, const fs::path& attempt) {
  SLIPWAY_ASSIGN(const FileLock lock, take_store_lock());
  std::optional<BuildRecord> record = read_record(id);
  if (!record) return record;
  const fs::path folder = folder_of(id);
  const fs::path use = folder / "uses" / attempt.filename();
  if (::symlink(attempt.c_str(), use.c_str()) != 0 && errno != EEXIST)
    return fail(errno_error(errno, fmt::format("note the use of {}", folder.string())));
  ::utimensat(AT_FDCWD, (folder / "used").c_str(), nullptr, 0);
  return record;
}

Result<std::optional<FileLock>> BuildStore::try_lock(const std::string& key) {
  SLIPWAY_TRY(make_folders(folder_ / "locks"));
  return FileLock::try_take(folder_ / "locks" / key);
}

Status BuildStore::clear(const BuildRecord& record) {
  SLIPWAY_TRY(make_folders(folder_ / "builds"));
  const fs::path folder = folder_of(record.id);
  remove_quietly(folder);
  SLIPWAY_TRY(make_folders(folder));
  // Whose rubble it is, should it become that.
  return replace_file(folder / "key", record.key);
}

Status BuildStore::publish(const BuildRecord& record, std::string_view lock) {
  const fs::path folder = folder_of(record.id);
  SLIPWAY_TRY(replace_file(folder / "lock.txt", lock));
  SLIPWAY_TRY(replace_file(folder / "used", ""));
  SLIPWAY_TRY(make_folders(folder / "uses"));
  SLIPWAY_FAILPOINT("environments.before_publish");
  return replace_file(folder / "build.json", json::serialize(to_json(record)));
}

void BuildStore::discard(const std::string& id) {
  remove_quietly(folder_of(id));
}

std::optional<std::string> BuildStore::lock_since(const std::string& key, Timestamp since) const {
  const fs::path file = folder_ / "agreed" / key;
  if (modified(file) <= since) return std::nullopt;
  auto text = read_file(file);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

void BuildStore::remember_lock(const std::string& key, std::string_view lock) {
  if (make_folders(folder_ / "agreed")) (void)replace_file(folder_ / "agreed" / key, lock);
}

std::optional<Error> BuildStore::failure_since(const std::string& key, Timestamp since) const {
  const fs::path file = folder_ / "failed" / key;
  if (modified(file) <= since) return std::nullopt;
  const auto text = read_file(file, 1 << 20);
  if (!text) return std::nullopt;
  return error_from_json(*text, 400);
}

void BuildStore::remember_failure(const std::string& key, const Error& error) {
  if (make_folders(folder_ / "failed"))
    (void)replace_file(folder_ / "failed" / key, json::serialize(slipway::to_json(error)));
}

void BuildStore::forget_failure(const std::string& key) {
  ::unlink((folder_ / "failed" / key).c_str());
}

bool BuildStore::is_used(const std::string& id) const {
  const fs::path uses = folder_of(id) / "uses";
  std::error_code error;
  for (const std::string& name : names_in(uses)) {
    const fs::path attempt = fs::read_symlink(uses / name, error);
    if (!error && fs::exists(attempt, error)) return true;
    ::unlink((uses / name).c_str());
  }
  return false;
}

Result<std::vector<BuildInfo>> BuildStore::list() const {
  std::vector<BuildInfo> builds;
  DiskUse use;
  use.add(folder_ / "cache");
  for (const std::string& id : names_in(folder_ / "builds")) {
    std::optional<BuildRecord> record = read_record(id);
    if (!record) continue;
    builds.push_back({.record = std::move(*record),
                      .used_at = modified(folder_of(id) / "used"),
                      .bytes = use.add(folder_of(id)),
                      .in_use = is_used(id)});
  }
  std::ranges::sort(builds, {}, [](const BuildInfo& build) { return build.used_at.micros; });
  return builds;
}

// False: an attempt has taken it meanwhile.
bool BuildStore::move_away(const std::string& id, const fs::path& trash) {
  const auto lock = take_store_lock();
  if (!lock || is_used(id)) return false;
  return ::rename(folder_of(id).c_str(), (trash / id).c_str()) == 0;
}

// Rubble of builds that were killed, and of prunings.
void BuildStore::sweep() {
  remove_quietly(folder_ / "trash");
  for (const std::string& id : names_in(folder_ / "builds")) {
    if (read_record(id)) continue;
    const auto key = read_file(folder_of(id) / "key", 4096);
    if (!key) continue;
    const auto lock = try_lock(*key);
    if (lock && *lock && !read_record(id)) remove_quietly(folder_of(id));
  }
}

Result<Pruned> BuildStore::prune(uint64_t keep_bytes) {
  sweep();
  SLIPWAY_ASSIGN(const std::vector<BuildInfo> builds, list());
  DiskUse before;
  before.add(folder_);
  Pruned pruned{.builds = {}, .freed_bytes = 0, .left_bytes = before.bytes()};
  const fs::path trash = folder_ / "trash" / random_base32(8);
  if (pruned.left_bytes > keep_bytes) SLIPWAY_TRY(make_folders(trash));
  for (const BuildInfo& build : builds) {
    if (pruned.left_bytes <= keep_bytes) break;
    if (build.in_use || !move_away(build.record.id, trash)) continue;
    pruned.left_bytes -= std::min(pruned.left_bytes, build.bytes);
    pruned.builds.push_back(build.record.id);
  }
  if (pruned.left_bytes > keep_bytes) {
    std::error_code error;
    fs::rename(folder_ / "cache", trash / "cache", error);
  }
  remove_quietly(folder_ / "trash");
  DiskUse after;
  after.add(folder_);
  pruned.left_bytes = after.bytes();
  pruned.freed_bytes = before.bytes() - std::min(before.bytes(), after.bytes());
  return pruned;
}

}  // namespace slipway::environments

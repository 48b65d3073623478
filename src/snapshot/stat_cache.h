// Remembers the digests of a source folder's files by what stat says of them, as git's index does, so that an
// unchanged folder costs only the walk.
//
// Invariants
//   1. An entry is kept only when the file was already older than the moment before it was looked at: a later
//   change
//      must then show in mtime or ctime. (Two changes within one tick of the file system's clock would not.)
//   2. The file holds its own checksum. Whatever is wrong with it, it is as if there were none: files are
//   hashed again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "snapshot/walk.h"

namespace slipway::snapshot {

struct CachedFile {
  std::string_view path;
  FileStat stat;
  Digest digest;
  bool operator==(const CachedFile&) const = default;
};

class StatCache {
 public:
  StatCache() = default;
  // Empty when the file is missing, unreadable or damaged.
  static StatCache load(const std::filesystem::path& file);
  static StatCache parse(std::string bytes);

  StatCache(StatCache&&) noexcept = default;
  StatCache& operator=(StatCache&&) noexcept = default;

  // nullopt: not known, or changed since.
  std::optional<Digest> find(std::string_view path, const FileStat& stat) const;
  size_t size() const { return files_.size(); }

  // The bytes that `parse` reads. `files` are in the order of their paths.
  static std::string encode(const std::vector<CachedFile>& files);

 private:
  // Behind a pointer, so that the views in files_ survive a move.
  std::unique_ptr<const std::string> bytes_;
  std::vector<CachedFile> files_;
};

// Where the cache of a source folder lies: $XDG_CACHE_HOME/slipway/snapshots/, or the same below ~/.cache.
// Empty when neither variable is set.
std::filesystem::path stat_cache_path(const std::filesystem::path& source);
// Replaces the file, 0600 in a folder of 0700, and drops the oldest caches beyond 200. A failure is not worth
// stopping for: the next snapshot is slower, no more.
void store_stat_cache(const std::filesystem::path& file, const std::vector<CachedFile>& files);

}  // namespace slipway::snapshot

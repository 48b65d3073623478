// This machine's cache of files: snapshots' and datasets', shared by all agents, mounts and runs of one home.
//
//   folder/ab/cdef...      whole files, by their key
//   folder/aside/<random>  being written
//   folder/aside/<key>.part, <key>.have   a large file that is there in part (cache_partial.h)
//   folder/locks           byte ranges of it are locked by whoever fetches (cache_lock.h)
//
//  1. A file gets its name only after all of it was written, and hashed where its digest is known. Nothing is
//     synced: what was written before the machine last started is not trusted. Such a file is hashed again
//     when it is first used, and removed when it is damaged or when nothing tells what it should be.
//  2. Files leave the cache only by copying; no job ever gets a link to one.
//  3. The bound holds, to a twentieth, after each `trim`; what was used longest ago goes first. Another
//     process may remove a file at any moment: an open one stays readable, and a missing one is fetched
//     again.
//  4. A full disk takes files from the cache before it fails a writer.
//  5. Whoever removes the folder loses what it held and nothing else: it is made again.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/result.h"
#include "data/cache_lock.h"
#include "data/cache_partial.h"

namespace slipway::data {

// What a cached file is known by: the digest of its content, or, where nobody knows that, the digest of all
// that identifies it (server, path, entity tag, size).
struct CacheKey {
  Digest name;
  bool of_content = true;
  // NOLINTNEXTLINE(google-explicit-constructor): a digest of content is a key as it is.
  CacheKey(const Digest& digest) : name(digest) {}
  CacheKey(const Digest& digest, bool content) : name(digest), of_content(content) {}
};

// Of the whole file, whatever its position.
Result<Digest> digest_of(int fd);

class FileCache {
 public:
  // When this machine was started, to the second: what was written later needs no second look.
  static Timestamp boot_time();

  // Creates the folder where it lacks. `trusted_since`: see 1.
  static Result<std::unique_ptr<FileCache>> open(std::filesystem::path folder, uint64_t max_bytes,
                                                 Timestamp trusted_since = boot_time());

  // The content, from its beginning. kNotFound when it is not there (any more) or was damaged.
  Result<UniqueFd> open_file(const CacheKey& key, uint64_t size);
  // The whole content of one that is small enough to hold.
  Result<std::string> read(const Digest& digest, size_t limit);
  bool holds(const CacheKey& key, uint64_t size) const;

  // Takes the bytes of one file. Destroyed without `finish`: nothing is left.
  class Writer {
   public:
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    Status append(std::string_view bytes);
    // kInvalidArgument when the bytes are not those of the key's digest.
    Status finish();

   private:
    friend class FileCache;
    Writer(FileCache& cache, const CacheKey& key) : cache_(cache), key_(key) {}
    FileCache& cache_;
    CacheKey key_;
    std::filesystem::path aside_;
    UniqueFd fd_;
    Hasher hasher_;
    uint64_t size_ = 0;
  };
  Result<std::unique_ptr<Writer>> begin(const CacheKey& key);
  Status put(const CacheKey& key, std::string_view content);
  // The same by one who has the content and can do without: a cache that takes nothing is a line in the log.
  void offer(const CacheKey& key, std::string_view content);
  // Where a whole file is, for whoever takes it out of a cache that is theirs alone.
  std::filesystem::path path_of(const CacheKey& key) const;

  // A file that is to come in pieces, or has come in part; one object for all threads that ask for it. Null:
  // it is here whole, since another process has just completed it.
  Result<std::shared_ptr<PartialFile>> open_partial(const CacheKey& key, uint64_t size);
  // Makes a partial file with all its chunks a whole one: hashed where the digest is known, renamed.
  // kInvalidArgument for other bytes than the digest's; they are dropped.
  Status finish_partial(const CacheKey& key, PartialFile& partial);
  // Forgets what has come: it was found to be of another version.
  void drop_partial(const CacheKey& key);

  // Waits until nobody else holds that part of the key (a chunk's number, or kWhole).
  Result<CacheLock> lock(const CacheKey& key, uint64_t first, uint64_t count = 1) const {
    return CacheLock::take(folder_ / "locks", key.name, first, count);
  }

  // Removes what was used longest ago until the bound holds with a tenth to spare, and what dead writers have
  // left.
  void trim();
  // The disk is full: removes what was used longest ago until `bytes` more are free, unless somebody else has
  // done so meanwhile. False: nothing is left to remove.
  bool make_room(uint64_t bytes);

 private:
  FileCache(std::filesystem::path folder, uint64_t max_bytes, Timestamp trusted_since)
      : folder_(std::move(folder)), max_bytes_(max_bytes), trusted_since_(trusted_since) {}
  std::filesystem::path aside_of(const CacheKey& key, std::string_view ending) const;
  Status check(const CacheKey& key, int fd) const;
  Status give_name(const CacheKey& key, const std::filesystem::path& aside) const;
  uint64_t remove_oldest(uint64_t bytes);

  const std::filesystem::path folder_;
  const uint64_t max_bytes_;
  const Timestamp trusted_since_;

  std::mutex room_mutex_;  // one at a time removes, so that the others find what it has freed
  std::mutex mutex_;
  std::map<Digest, std::weak_ptr<PartialFile>> partials_;
  uint64_t added_since_trim_ = 0;
  bool trimmed_ = false;
};

}  // namespace slipway::data

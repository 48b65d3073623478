// This machine's cache of snapshot files, by digest: `folder`/ab/cdef... Shared by all agents of one home.
//
//  1. A file gets its name only after all of it was written and hashed. Nothing is synced: after a
//     power loss a file may be damaged, so each is hashed once more when an agent first uses it, and a
//     damaged one is removed.
//  2. Files leave the cache only by copying; no job ever gets a link to one.
//  3. The bound holds, to a twentieth, after each `trim`; what was used longest ago goes first. Another
//     agent may remove a file at any moment: an open one stays readable, and a missing one is fetched
//     again.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/digest.h"
#include "base/fd.h"
#include "base/result.h"

namespace slipway::node {

class BlobCache {
 public:
  // Creates the folder where it lacks.
  static Result<std::unique_ptr<BlobCache>> open(std::filesystem::path folder, uint64_t max_bytes);

  // The content, from its beginning. kNotFound when it is not there (any more) or was damaged.
  Result<UniqueFd> open_blob(const Digest& digest, uint64_t size);
  // The whole content of one that is small enough to hold.
  Result<std::string> read(const Digest& digest, size_t limit);
  bool holds(const Digest& digest, uint64_t size) const;

  // Takes the bytes of one blob. Destroyed without `finish`: nothing is left.
  class Writer {
   public:
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    Status append(std::string_view bytes);
    // kInvalidArgument when the bytes are not those of the digest.
    Status finish();

   private:
    friend class BlobCache;
    Writer(BlobCache& cache, const Digest& digest) : cache_(cache), digest_(digest) {}
    BlobCache& cache_;
    Digest digest_;
    std::filesystem::path aside_;
    UniqueFd fd_;
    Hasher hasher_;
    uint64_t size_ = 0;
  };
  Result<std::unique_ptr<Writer>> begin(const Digest& digest);
  Status put(const Digest& digest, std::string_view content);

  // Removes what was used longest ago until the bound holds with a tenth to spare, and what dead writers have
  // left.
  void trim();

 private:
  BlobCache(std::filesystem::path folder, uint64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}
  std::filesystem::path path_of(const Digest& digest) const;
  Status check_once(const Digest& digest, int fd);
  void remember(const Digest& digest);

  const std::filesystem::path folder_;
  const uint64_t max_bytes_;

  std::mutex mutex_;
  std::unordered_set<Digest> checked_;  // hashed by this process
  uint64_t added_since_trim_ = 0;
  bool trimmed_ = false;
};

}  // namespace slipway::node

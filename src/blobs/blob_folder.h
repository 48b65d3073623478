// The folder beneath a store: names from digests, and the two steps that must not overtake each other,
// publishing a blob and removing one.
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/result.h"
#include "blobs/blob_store.h"

namespace slipway::blobs {

// Files of the partial folder that wait to be freed.
constexpr std::string_view kHiddenPrefix = "removed-";

class BlobFolder {
 public:
  static Result<std::unique_ptr<BlobFolder>> open(const std::string& path);

  // "ab/cdef...": relative to root(). Digests are the only source of names in here.
  static std::string name_of(const Digest& digest);

  int root() const { return root_.get(); }
  int partial() const { return partial_.get(); }

  // Makes the folders that blobs of these digests go into, durably. Must come before `publish`.
  Status make_folders_for(const std::vector<Digest>& digests);
  // Gives a file of partial(), whose bytes are on disk, its name. The name itself is durable after
  // `sync_names`.
  Status publish(const std::string& partial_name, const Digest& digest);
  Status sync_names(const std::vector<Digest>& digests);
  // Makes a blob young; false when it is not there.
  bool touch(const Digest& digest);
  // See BlobStore.
  std::unique_ptr<Hold> hold();
  Result<std::optional<uint64_t>> hide(const Digest& digest, Duration unused);

 private:
  class FolderHold;

  BlobFolder(UniqueFd root, UniqueFd partial) : root_(std::move(root)), partial_(std::move(partial)) {}

  std::mutex& lock_for(const Digest& digest) { return locks_[digest.bytes()[0] % locks_.size()]; }
  void find_folders();
  Timestamp oldest_hold();

  UniqueFd root_;
  UniqueFd partial_;
  std::array<std::mutex, 16> locks_;  // between publish, touch and hide of one digest
  std::mutex holds_mutex_;
  std::multiset<Timestamp> holds_;  // when each began
  std::mutex folders_mutex_;
  std::bitset<256> folders_;  // those known to be there for good
};

}  // namespace slipway::blobs

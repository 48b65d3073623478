// Who fetches what, between all processes that share a cache: byte ranges of one file, locked. A range is
// found from the key and the chunks it is about; two keys that share one by chance only wait for each other.
// The kernel takes the lock back when its holder dies.
//
// A thread that holds one takes a second one only with a higher number of the same key, so that no two wait
// for each other.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/digest.h"
#include "base/fd.h"
#include "base/result.h"

namespace slipway::data {

class CacheLock {
 public:
  // The chunk number that stands for the file as a whole.
  static constexpr uint64_t kWhole = uint64_t{1} << 40;

  // Waits for it; kTimeout after ten minutes.
  static Result<CacheLock> take(const std::filesystem::path& file, const Digest& name, uint64_t first,
                                uint64_t count);

 private:
  explicit CacheLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;  // closing it ends the lock
};

}  // namespace slipway::data

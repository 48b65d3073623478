// A large file of the cache that is there in part: the bytes in a sparse file, and beside it a record with a
// byte for each chunk, mapped into the memory of every process that uses it.
//
//  1. A chunk's byte is set after all of the chunk was written. Both survive the death of the process; a
//     restart of the machine does not leave either trusted, so the record names the boot it belongs to.
//  2. A chunk is fetched by whoever has claimed it in this process and holds its lock between processes. A
//     claim may be given up without the chunk having come.
//
// Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace slipway::data {

class PartialFile {
 public:
  static constexpr uint64_t kChunk = 1 << 20;

  // Opens or creates the pair; a record of another boot or size is begun anew. The caller holds the lock on
  // the whole file.
  static Result<std::shared_ptr<PartialFile>> open(const std::filesystem::path& bytes,
                                                   const std::filesystem::path& record, uint64_t size);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  int fd() const { return bytes_.get(); }
  uint64_t size() const { return size_; }
  size_t chunks() const { return chunks_; }
  uint64_t length_of(size_t chunk) const { return std::min(kChunk, size_ - chunk * kChunk); }

  bool has(size_t chunk) const { return here(chunk).load(std::memory_order_acquire) != 0; }
  // Whether every chunk is here; costs a look at each one once in the life of this object.
  bool complete();

  // Writes where the bytes belong. kStorageFull when the disk is.
  Status write(uint64_t offset, std::string_view bytes) const;
  void mark(size_t chunk);

  // Claims chunks from `first` on, at most `count`, up to the first one that is here or claimed; 0: `first`
  // is.
  size_t claim(size_t first, size_t count);
  void release(size_t first, size_t count);
  // Waits until the chunk is here or nobody in this process has claimed it; false after `longest`.
  bool wait(size_t chunk, std::chrono::milliseconds longest);

 private:
  PartialFile(UniqueFd bytes, uint64_t size, char* mapped, size_t mapped_size);
  std::atomic_ref<char> here(size_t chunk) const;

  const UniqueFd bytes_;
  const uint64_t size_;
  const size_t chunks_;
  char* const mapped_;
  const size_t mapped_size_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> claimed_;
  size_t first_missing_ = 0;  // all before it are here
};

}  // namespace slipway::data

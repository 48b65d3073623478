// Hashes a file on a thread of its own while another thread appends to it: the bytes come from the page
// cache, so that receiving and hashing take the time of the slower one, not of both.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "base/digest.h"
#include "base/result.h"

namespace slipway::client {

class FollowingHasher {
 public:
  // `fd` stays open and readable for the life of this object.
  explicit FollowingHasher(int fd);
  ~FollowingHasher();
  FollowingHasher(const FollowingHasher&) = delete;
  FollowingHasher& operator=(const FollowingHasher&) = delete;

  // The first `size` bytes of the file are written and will not change.
  void written(uint64_t size);
  // Waits for the rest and gives the digest of all that was written. Called once.
  Result<Digest> finish();

 private:
  void run();

  const int fd_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t written_ = 0;
  bool ended_ = false;
  bool failed_ = false;
  Hasher hasher_;
  std::jthread thread_;  // last: started when all else is there
};

}  // namespace slipway::client

#include "client/following_hasher.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace slipway::client {

FollowingHasher::FollowingHasher(int fd) : fd_(fd), thread_([this] { run(); }) {}

FollowingHasher::~FollowingHasher() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    written_ = 0;  // nobody asks for the digest any more
  }
  changed_.notify_one();
}

void FollowingHasher::written(uint64_t size) {
  {
    const std::lock_guard lock(mutex_);
    written_ = size;
  }
  changed_.notify_one();
}

Result<Digest> FollowingHasher::finish() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
  if (failed_) return fail(ErrorCode::kInternal, "cannot read back what was written");
  return hasher_.finish();
}

void FollowingHasher::run() {
  std::vector<char> buffer(256 << 10);
  uint64_t hashed = 0;
  while (true) {
    uint64_t until = 0;
    {
      std::unique_lock lock(mutex_);
      // The file's own thread always ends it, in finish() or in the destructor.
      changed_.wait(lock, [&] { return ended_ || written_ > hashed; });
      if (written_ <= hashed) return;
      until = written_;
    }
    while (hashed < until) {
      const size_t wanted = std::min<uint64_t>(buffer.size(), until - hashed);
      const ssize_t count = ::pread(fd_, buffer.data(), wanted, static_cast<off_t>(hashed));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        failed_ = true;
        return;
      }
      hasher_.update({buffer.data(), static_cast<size_t>(count)});
      hashed += static_cast<uint64_t>(count);
    }
  }
}

}  // namespace slipway::client

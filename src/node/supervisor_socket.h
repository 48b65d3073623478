// The job's end of the in-job interface: a Unix datagram socket whose messages become journal records.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "injob/message.h"
#include "node/supervisor_feed.h"

namespace slipway::node {

// Not thread-safe.
class InJobSocket {
 public:
  // Binds at `path`, for this user alone. `feed` outlives it.
  static Result<InJobSocket> open(const std::string& path, JournalFeed& feed);
  InJobSocket(InJobSocket&& other) noexcept = default;
  InJobSocket& operator=(InJobSocket&&) = delete;
  // Removes the socket file.
  ~InJobSocket();

  int fd() const { return fd_.get(); }
  // Takes up to a few hundred messages. True: there are more.
  bool receive(Timestamp now);
  // At the end: says how many messages were refused.
  void finish();

 private:
  InJobSocket(std::string path, UniqueFd fd, JournalFeed& feed)
      : path_(std::move(path)), fd_(std::move(fd)), feed_(&feed) {}
  void take(std::string_view text, Timestamp now);
  void write_gathered();

  std::string path_;
  UniqueFd fd_;
  JournalFeed* feed_;
  std::unique_ptr<char[]> buffers_;
  injob::Message gathered_;
  uint64_t refused_ = 0;
};

}  // namespace slipway::node

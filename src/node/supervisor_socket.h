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
  // Binds at `path`, for this user alone. Values files are read below `work`. `feed` outlives it.
  static Result<InJobSocket> open(const std::string& path, const std::string& work, JournalFeed& feed);
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
  InJobSocket(std::string path, std::string work, UniqueFd fd, JournalFeed& feed)
      : path_(std::move(path)), work_(std::move(work)), fd_(std::move(fd)), feed_(&feed) {}
  void take(std::string_view text, Timestamp now);
  void refuse(size_t bytes, const Error& error);
  void write_gathered();
  void write_entries();
  void write_pairs();
  Status take_values_file(const std::string& path, Timestamp now);

  std::string path_;
  std::string work_;
  UniqueFd fd_;
  JournalFeed* feed_;
  std::unique_ptr<char[]> buffers_;
  injob::Message gathered_;
  uint64_t refused_ = 0;
};

}  // namespace slipway::node

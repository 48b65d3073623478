// An answer on its way out: its head and its body, in memory or in a file, and how far it has got.
#pragma once

#include <string>

#include "http/channel.h"
#include "http/message.h"

namespace slipway::http {

enum class Framing { kLength, kChunked, kUntilClose };

// The status line and the header fields, the blank line included. Adds what every answer carries: nosniff,
// and no-store unless the handler has set Cache-Control.
std::string response_head(const Response& response, Framing framing, uint64_t length, bool keep_alive,
                          int version);

class Outgoing {
 public:
  Outgoing() = default;
  // Bytes as they are.
  explicit Outgoing(std::string bytes) : head_(std::move(bytes)) {}
  // The whole answer, or without its body for HEAD. Not for event streams.
  Outgoing(Response response, bool head_only, bool keep_alive, int version);

  bool done() const { return sent_ == head_.size() && body_sent_ == body_.size() && file_left() == 0; }
  // The rest comes from a file: sending it may have to wait for the disk.
  bool from_file() const { return sent_ == head_.size() && file_left() > 0; }

  // Moves what the channel takes now, about `budget` bytes at most. kMoved: done, or the budget is used;
  // kBroken: the peer or the file failed; else what to wait for.
  IoState pump(Channel& channel, size_t budget = SIZE_MAX);

 private:
  uint64_t file_left() const { return file_ ? file_->length : 0; }
  IoResult move_some(Channel& channel, size_t budget);

  std::string head_;  // and a small body behind it, to go out in one write
  size_t sent_ = 0;
  std::string body_;
  size_t body_sent_ = 0;
  std::shared_ptr<FileBody> file_;  // its own alone; offset and length move on
  bool broken_ = false;
};

}  // namespace slipway::http

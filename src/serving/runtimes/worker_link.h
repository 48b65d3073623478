// The server's end of the socket to a worker process. A frame is: the length of a JSON header (4 bytes), the
// length of what follows it (8 bytes, both little-endian), the header, the rest (worker.py). Not thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"

namespace slipway::serving {

struct Frame {
  json::object header;
  std::string rest;
};

class WorkerLink {
 public:
  WorkerLink() = default;
  explicit WorkerLink(UniqueFd socket) : socket_(std::move(socket)) {}

  // kTimeout when `deadline` passes, kUnavailable when the other end is gone or talks nonsense.
  Status send(const json::object& header, std::span<const std::string_view> parts, Monotonic deadline);
  Result<Frame> receive(Monotonic deadline);
  // Whether something has come, or the other end is gone; waits for it for a while.
  bool readable(std::chrono::milliseconds patience) const;

 private:
  Status write_all(std::string_view bytes, Monotonic deadline);
  Status read_all(std::span<char> into, Monotonic deadline);
  Status wait(short events, Monotonic deadline);

  UniqueFd socket_;
};

}  // namespace slipway::serving

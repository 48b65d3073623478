// The listening socket, and what is done when the process has no descriptor left to accept with.
#pragma once

#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "http/server.h"

namespace slipway::http {

class Listener {
 public:
  // The message of a failure names the address and what to do.
  static Result<Listener> open(const ServerOptions& options);

  int fd() const { return socket_.get(); }
  uint16_t port() const { return port_; }

  enum class Outcome { kTaken, kNone, kExhausted };
  // Takes one waiting connection, non-blocking. kExhausted: there was no descriptor for it; the peer was sent
  // away with the help of a spare one, and the caller pauses before it tries again.
  Outcome accept(UniqueFd& connection);

 private:
  Listener(UniqueFd socket, uint16_t port);

  UniqueFd socket_;
  uint16_t port_;
  UniqueFd spare_;
};

}  // namespace slipway::http

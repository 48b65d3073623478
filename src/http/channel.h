// One connected socket, plain or TLS, that never waits: each call moves what it can now and says what it
// would have to wait for. The server's coroutines wait with Asio, its workers and the client with poll, all
// on the same channel. Not thread-safe: one thread at a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

struct ssl_st;

namespace slipway::http {

enum class IoState {
  kMoved,      // `bytes` went through
  kWantRead,   // nothing moved; try again once the socket is readable
  kWantWrite,  // the same, once it is writable
  kClosed,     // the peer ended its side in order
  kBroken,     // the connection failed; `failure()` says how
};

struct IoResult {
  IoState state = IoState::kBroken;
  size_t bytes = 0;
};

// Bytes that go out one behind the other without being put together first.
struct Pieces {
  std::string_view first;
  std::string_view second;

  bool empty() const { return first.empty() && second.empty(); }
  void consume(size_t count) {
    const size_t of_first = std::min(count, first.size());
    first.remove_prefix(of_first);
    second.remove_prefix(count - of_first);
  }
};

struct FreeTlsSession {
  void operator()(ssl_st* session) const;
};
using TlsSession = std::unique_ptr<ssl_st, FreeTlsSession>;

class Channel {
 public:
  Channel() = default;
  // The descriptor is non-blocking and belongs to the caller, who keeps it open for the channel's life. `tls`
  // is null for plain TCP.
  Channel(int fd, TlsSession tls);

  int fd() const { return fd_; }
  bool secure() const { return tls_ != nullptr; }
  // Whether bytes have been taken from the socket and not been read yet: then waiting for the socket may wait
  // in vain.
  bool has_buffered() const;

  // TLS only: kMoved once it is complete.
  IoResult handshake();
  IoResult read(std::span<char> into);
  // `more`: further bytes follow at once, so that the kernel may join them to one packet.
  IoResult write(std::string_view bytes, bool more = false);
  IoResult write(const Pieces& pieces, bool more = false);
  // Sends a piece of a file: sendfile(2) on plain TCP, read and write on TLS. kClosed when the file has
  // ended.
  IoResult send_file(int file, uint64_t offset, size_t length);
  // Says goodbye (TLS close_notify) without waiting for the answer.
  void end();

  // Why the last call was kBroken.
  std::string failure() const;

 private:
  IoResult tls_outcome(int returned);
  IoResult errno_outcome(IoState want);

  int fd_ = -1;
  TlsSession tls_;
  int errno_ = 0;
  std::string tls_failure_;
};

enum class Waited { kReady, kTimeout, kInterrupted };

// Waits with poll until the channel's descriptor is ready for `want` (kWantRead, kWantWrite) or `deadline`
// passes. A readable `interrupt_fd` (-1: none) ends the wait early, and with `or_readable` so does an answer
// that comes while there is still something to write.
Waited wait_until(const Channel& channel, IoState want, std::chrono::steady_clock::time_point deadline,
                  int interrupt_fd = -1, bool or_readable = false);

}  // namespace slipway::http

// The HTTP server: one coroutine a connection on a few I/O threads, handlers on a pool of workers.
// Everything a peer can make it hold is bounded (Limits).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/notifier.h"
#include "base/result.h"
#include "http/gateway.h"
#include "http/router.h"

namespace slipway::http {

struct TlsFiles {
  std::string certificate;  // PEM, with its chain
  std::string key;          // PEM
};

struct Limits {
  size_t header_bytes = 32 << 10;
  size_t connections = 4096;  // beyond it the oldest idle connection is closed, or the new one gets 503
  std::chrono::seconds header_time{
      10};  // from the first byte of a request (slowloris) to the end of its header
  std::chrono::seconds idle_time{75};      // a kept-alive connection without a request
  std::chrono::seconds progress_time{30};  // a body read or a write that does not move
  std::chrono::seconds event_heartbeat{
      15};                        // a comment line on a silent event stream; the token is checked again
  size_t queued_requests = 1024;  // waiting for a worker; beyond it 503 with Retry-After
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any free one
  std::optional<TlsFiles> tls;
  Limits limits;
  unsigned io_threads = 2;
  unsigned workers = 32;  // for handlers; as many again, at most, for those that pull a streamed body
  // Host names to be addressed by, besides the address itself. A listener on a loopback address takes
  // localhost, 127.0.0.1 and [::1] and these alone, so that no web page can reach it under a name of its own
  // (DNS rebinding); any other listener checks only when there are some.
  std::vector<std::string> allowed_hosts;
  // Also speaks HTTP/2: with TLS to clients that ask for it, without to those that begin with it. For gRPC.
  // Doors of a gateway speak it anyway.
  bool http2 = false;
  // How long `stop` lets requests in progress go on before it cuts their connections.
  std::chrono::milliseconds grace_to_stop{5000};
};

struct ServerCounters {
  uint64_t requests = 0;
  uint64_t open_connections = 0;
  uint64_t rejected_connections = 0;
};

class Server {
 public:
  // The router, the authoriser, the notifier and the gateway outlive the server.
  Server(ServerOptions options, const Router& router, Authoriser& authoriser, Notifier& notifier,
         Gateway* gateway = nullptr);
  ~Server();

  // Binds and starts to answer; the message of a failure names the address and what to do.
  Status start();
  uint16_t port() const;
  // Stops to accept, lets handlers in progress end (for the grace, then their connections are cut), ends
  // event streams, joins all threads. Not to be called from a handler. A handler that never returns is a
  // defect: it is named in the log and waited for.
  void stop();
  ServerCounters counters() const;

  // Another port of the same address whose requests all go to the gateway, under this name. `port` 0: any
  // free one; the answer is the port. Thread-safe, between `start` and `stop`.
  Result<uint16_t> open_door(const std::string& name, uint16_t port);
  // Takes no new connection any more; requests on the ones there are go to the gateway still.
  void close_door(const std::string& name);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipway::http

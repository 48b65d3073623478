// Requests that other servers answer. A gateway says which server takes a request; the connection that read
// it carries it there and the answer back, piece by piece as they come, on the same I/O thread (forward.cc).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/secret.h"
#include "http/message.h"
#include "http/parser.h"

namespace slipway::http {

// A server that requests are passed on to. Shared by the gateway and the requests on their way.
struct Upstream {
  uint64_t id = 0;   // never given twice: kept connections are found by it
  std::string host;  // an IP address
  uint16_t port = 0;
  Secret key;  // sent to it as Bearer; empty: none
  std::atomic<int> under_way = 0;
};

// Where one request goes.
struct Passage {
  std::shared_ptr<Upstream> upstream;
  std::string target;      // path and query there
  std::string request_id;  // for the server and the client alike
  std::chrono::milliseconds answer_time{};
  bool repeatable = false;  // nothing is done that may not be done twice
};

enum class PassageEnd {
  kAnswered,      // whatever the status
  kNotConnected,  // nothing came of it, and another server may take the request
  kBroken,        // the server went away in the middle
  kLate,          // it did not answer in time
  kClientGone,
};

// Thread-safe. Called on I/O threads: nothing here may block.
class Gateway {
 public:
  virtual ~Gateway() = default;
  // Whether requests with this target are the gateway's, on the server's own port. On a door all are.
  virtual bool takes(std::string_view target) const = 0;
  // The server for this request, which then counts as under way there until `ended`; or the answer instead.
  // `door` is the name of the door it came through, empty for the server's own port; `tried` are those that
  // could not be connected to.
  virtual std::expected<Passage, Response> choose(const Head& head, std::string_view door,
                                                  std::span<const uint64_t> tried) = 0;
  virtual void ended(const Passage& passage, PassageEnd how, int status, std::chrono::microseconds took) = 0;
  // The answer to the client when the passage has failed.
  virtual Response refusal(const Passage& passage, const Error& error) = 0;
};

}  // namespace slipway::http

// Event streams that go on across broken connections and restarts of the server: each event once, none left
// out.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "client/connection.h"
#include "http/client.h"

namespace slipway::client {

// A piece of a log.
struct LogPiece {
  uint64_t offset = 0;  // in the log, before these bytes
  std::string channel;  // "stdout", "stderr", or empty for files
  std::string bytes;
};

// The data of a "log" event.
Result<LogPiece> parse_log_piece(std::string_view data);

struct FollowOptions {
  // How long a server that is away is waited for; its return starts the time anew.
  std::chrono::milliseconds patience = std::chrono::minutes(10);
  std::chrono::milliseconds first_wait{100};  // between tries, doubled each time
  std::chrono::milliseconds longest_wait{2000};
  // Called when the server goes away (false) and when it is back (true); may be empty.
  std::function<void(bool there)> on_contact = {};
};

// One stream, read by one thread. `stop` may be called from any other.
class Follower {
 public:
  explicit Follower(Connection connection, FollowOptions options = {});

  // Gives each event after `last_id` to `on_event` until the stream ends in order (ok), `on_event` returns
  // false (ok), `stop` is called (ok), or it is of no use to go on: the server is away for too long, the
  // token is refused, there is no such run.
  Status follow(const std::string& target, std::string last_id,
                const std::function<bool(const http::Event&)>& on_event);

  // The log's bytes from `offset` on, in order, without gap or double. `query` says which log: name, attempt,
  // rank.
  Status follow_log(const std::string& target, uint64_t offset,
                    const std::function<bool(const LogPiece&)>& on_piece);

  // Ends a `follow` in progress, or the next one.
  void stop();

 private:
  bool wait(std::chrono::milliseconds time);

  Connection connection_;
  FollowOptions options_;
  std::mutex mutex_;  // guards the two below
  std::condition_variable stop_changed_;
  bool stopped_ = false;
  std::shared_ptr<http::Client> client_;  // shared with a `stop` in progress
};

}  // namespace slipway::client

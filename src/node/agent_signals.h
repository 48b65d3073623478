// What the rest of the agent tells an attempt's thread, and how that thread waits meanwhile. Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "node/agent_waiting.h"

namespace slipway::node {

// What the server asks of an attempt that is to end.
struct CancelOrder {
  std::string reason;
  Duration grace = std::chrono::seconds(10);
  bool kill = false;
  bool operator==(const CancelOrder&) const = default;
};

class AttemptSignals {
 public:
  void stop();   // the agent goes; the supervisor stays
  void fence();  // the server disowns the attempt
  // False: it has been told the same or more before. A kill is never taken back.
  bool cancel(const CancelOrder& order);
  void wake() { wakeup_.raise(); }

  bool stopped() const;
  bool fenced() const;
  std::optional<CancelOrder> canceled() const;
  // Stopped or fenced: what was being done is not wanted any more.
  bool interrupted() const;

  // Waits until woken or for `longest`.
  void wait(Duration longest) { wakeup_.wait(longest); }
  // Waits the whole time; false when interrupted.
  bool pause(Duration duration);

  // Repeats `call` while the server is away, and gives its answer; when interrupted, that of the last try.
  // `wanted` is asked before each repetition.
  Status insist(const std::function<Status()>& call, const std::function<bool()>& wanted = nullptr);

 private:
  Wakeup wakeup_;
  mutable std::mutex mutex_;
  bool stopped_ = false;
  bool fenced_ = false;
  std::optional<CancelOrder> cancel_;
};

}  // namespace slipway::node

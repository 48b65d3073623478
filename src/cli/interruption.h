// Ctrl-C while something is followed: the wait ends, the process does not.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "base/fd.h"

namespace slipway::cli {

// While it lives, SIGINT and SIGTERM call `on_signal` (from a thread of its own, again and again until the
// object is gone: a call that begins just after the first signal is ended by the next one) instead of ending
// the process. Make it before any thread that should not take the signals itself.
class Interruption {
 public:
  explicit Interruption(std::function<void()> on_signal);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool happened() const { return happened_; }

 private:
  void wait();

  std::function<void()> on_signal_;
  std::atomic<bool> happened_ = false;
  UniqueFd signals_;
  UniqueFd stop_;
  std::thread thread_;
};

}  // namespace slipway::cli

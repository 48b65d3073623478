// How the agent's threads wait: a wake-up that is never lost, and the pauses between tries.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "base/clock.h"

namespace slipway::node {

// A flag one thread waits on and any thread may raise. Raised before the wait, it ends that wait at once.
class Wakeup {
 public:
  void raise() {
    {
      const std::lock_guard lock(mutex_);
      raised_ = true;
    }
    condition_.notify_one();
  }
  // True when it was raised, which lowers it again; false after `longest`.
  bool wait(Duration longest) {
    std::unique_lock lock(mutex_);
    const bool raised = condition_.wait_for(lock, longest, [this] { return raised_; });
    raised_ = false;
    return raised;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool raised_ = false;
};

// The pauses between tries: none before the second try, then from 100 ms doubling up to the cap, each
// shortened by chance by up to a half, so that a hundred agents do not come back to a restarted server in
// step.
class Backoff {
 public:
  explicit Backoff(Duration cap = std::chrono::seconds(5)) : cap_(cap) {}

  Duration next() {
    if (!std::exchange(retried_, true)) return Duration(0);
    const Duration pause = pause_;
    pause_ = std::min(pause_ * 2, cap_);
    // Seeded only now: most calls succeed at once, and asking for entropy is not cheap.
    if (!random_) random_.emplace(std::random_device{}());
    std::uniform_int_distribution<int64_t> jitter(pause.count() / 2, pause.count());
    return Duration(jitter(*random_));
  }
  void reset() {
    retried_ = false;
    pause_ = kFirst;
  }

 private:
  static constexpr Duration kFirst = std::chrono::milliseconds(100);
  Duration cap_;
  Duration pause_ = kFirst;
  bool retried_ = false;
  std::optional<std::minstd_rand> random_;
};

}  // namespace slipway::node

// Time, passed in so that tests choose it. Leases and timeouts use the monotonic clock; the wall clock is for
// people to read and is never compared to decide anything.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace slipway {

using Duration = std::chrono::microseconds;

// Wall time in microseconds since 1970. Stored and sent as that number.
struct Timestamp {
  int64_t micros = 0;
  auto operator<=>(const Timestamp&) const = default;
};

// A point on the monotonic clock of this boot. Never stored.
using Monotonic = std::chrono::steady_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Timestamp now() const = 0;
  virtual Monotonic monotonic() const = 0;
};

class SystemClock final : public Clock {
 public:
  Timestamp now() const override;
  Monotonic monotonic() const override { return std::chrono::steady_clock::now(); }
};

// For tests: moves only when told. Safe from any thread.
class ManualClock final : public Clock {
 public:
  Timestamp now() const override { return {micros_.load()}; }
  Monotonic monotonic() const override { return Monotonic(std::chrono::microseconds(micros_.load())); }
  void advance(Duration by) { micros_ += by.count(); }

 private:
  std::atomic<int64_t> micros_ = 1'700'000'000'000'000;
};

// "2026-11-15T09:30:00.123Z"
std::string to_iso8601(Timestamp time);
// "850 ms", "12.3 s", "4 min 5 s", "2 h 3 min"
std::string to_text(Duration duration);
// Reads "90s", "15m", "2h", "7d", "500ms" or plain seconds.
Result<Duration> parse_duration(std::string_view text);

}  // namespace slipway

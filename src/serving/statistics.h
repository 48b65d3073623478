// What the server counts, for /metrics and /v2/.../stats. Thread-safe; counting takes no lock.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace slipway::serving {

using Microseconds = std::chrono::duration<double, std::micro>;

// Counts in buckets whose upper bounds grow by 1.8, from 10 us on, as TensorFlow Serving's do.
class Histogram {
 public:
  static constexpr size_t kBuckets = 33;

  void add(Microseconds time);
  // Prometheus' lines: name_bucket{labels,le="..."}, name_sum, name_count.
  void append_to(std::string& out, std::string_view name, std::string_view labels) const;

 private:
  std::array<std::atomic<uint64_t>, kBuckets + 1> counts_{};
  std::atomic<uint64_t> sum_nanoseconds_ = 0;
};

struct Statistics {
  std::atomic<uint64_t> succeeded = 0;
  std::atomic<uint64_t> failed = 0;
  std::atomic<uint64_t> rows = 0;  // computed
  std::atomic<uint64_t> runs = 0;  // of the model: batches
  std::atomic<uint64_t> request_nanoseconds = 0;
  std::atomic<uint64_t> queue_nanoseconds = 0;
  std::atomic<uint64_t> compute_nanoseconds = 0;
  std::atomic<int64_t> queued_rows = 0;
  std::atomic<int64_t> in_flight = 0;
  Histogram latency;
};

// Prometheus' text, under the names that users of Triton and of TensorFlow Serving already graph.
std::string to_prometheus(const Statistics& statistics, std::string_view model, std::string_view version);

}  // namespace slipway::serving

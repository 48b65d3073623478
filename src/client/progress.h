// How far a transfer has come, for whoever shows it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>

namespace slipway::client {

struct TransferProgress {
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
  size_t files_done = 0;
  size_t files_total = 0;
};

// Called from the transferring threads, one at a time, some times a second and at the end; must not block.
using OnProgress = std::function<void(const TransferProgress&)>;

// Counts for several threads and reports.
class ProgressMeter {
 public:
  ProgressMeter(OnProgress on_progress, uint64_t bytes_total, size_t files_total)
      : on_progress_(std::move(on_progress)), bytes_total_(bytes_total), files_total_(files_total) {}

  void add_bytes(uint64_t count) {
    bytes_done_ += count;
    report(false);
  }
  // Bytes that must be sent again.
  void take_back(uint64_t count) { bytes_done_ -= count; }
  void add_files(size_t count) {
    files_done_ += count;
    report(false);
  }
  void finish() { report(true); }

 private:
  void report(bool last) {
    if (!on_progress_) return;
    const auto now = std::chrono::steady_clock::now();
    const std::unique_lock<std::mutex> held =
        last ? std::unique_lock(mutex_) : std::unique_lock(mutex_, std::try_to_lock);
    if (!held || (!last && now - last_report_ < std::chrono::milliseconds(50))) return;
    last_report_ = now;
    on_progress_({.bytes_done = bytes_done_,
                  .bytes_total = bytes_total_,
                  .files_done = files_done_,
                  .files_total = files_total_});
  }

  OnProgress on_progress_;
  const uint64_t bytes_total_;
  const size_t files_total_;
  std::atomic<uint64_t> bytes_done_ = 0;
  std::atomic<size_t> files_done_ = 0;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point last_report_;
};

}  // namespace slipway::client

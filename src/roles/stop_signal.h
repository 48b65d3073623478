// Waits for the end: SIGTERM, SIGINT, or a request to shut down. One at a time in a process, because signals
// are.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace slipway::roles {

class StopSignal {
 public:
  // Blocks both signals in this thread and those it starts, and takes them on a thread of its own.
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  void raise(bool cancel_runs);
  void wait();
  bool cancel_runs() const { return cancel_runs_; }
  bool raised() const { return raised_; }

 private:
  void watch();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool raised_ = false;
  bool cancel_runs_ = false;
  std::thread watcher_;
};

}  // namespace slipway::roles

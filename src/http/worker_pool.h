// Threads that run blocking work: handlers, file I/O. The queue is bounded; threads are started as they are
// first needed, and a machine that gives no more of them does with those there are. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"

namespace slipway::http {

class WorkerPool {
 public:
  // Called once: with true by a worker, or with false by whoever could not push it. Must not throw.
  using Job = std::move_only_function<void(bool run)>;

  WorkerPool(unsigned threads, size_t queue_limit) : thread_limit_(threads), queue_limit_(queue_limit) {}
  ~WorkerPool() { stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Starts the first thread.
  Status start();

  // False, and `job` as it was, when the queue is full.
  bool try_push(Job& job);
  // For the next step of work that has been taken before: not refused, so that it can always end.
  void push(Job job);

  // Runs what is queued, then joins. Nothing may be pushed any more.
  void stop();

 private:
  void add(std::unique_lock<std::mutex> lock, Job job);
  bool add_thread();
  void work();

  const unsigned thread_limit_;
  const size_t queue_limit_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace slipway::http

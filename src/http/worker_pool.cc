#include "http/worker_pool.h"

#include <pthread.h>

#include <system_error>

namespace slipway::http {

Status WorkerPool::start() {
  const std::lock_guard lock(mutex_);
  if (add_thread()) return {};
  return fail(ErrorCode::kInternal, "cannot start a thread", "raise the limit of processes (ulimit -u)");
}

bool WorkerPool::add_thread() {
  try {
    threads_.emplace_back([this] { work(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

bool WorkerPool::try_push(Job& job) {
  std::unique_lock lock(mutex_);
  if (queue_.size() >= queue_limit_) return false;
  add(std::move(lock), std::move(job));
  return true;
}

void WorkerPool::push(Job job) {
  add(std::unique_lock(mutex_), std::move(job));
}

void WorkerPool::add(std::unique_lock<std::mutex> lock, Job job) {
  queue_.push_back(std::move(job));
  // Each idle thread answers for one queued job: more jobs than that need one more thread.
  if (queue_.size() > idle_ && threads_.size() < thread_limit_) add_thread();
  lock.unlock();
  wake_.notify_one();
}

void WorkerPool::work() {
  ::pthread_setname_np(::pthread_self(), "http-worker");
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    Job job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    job(true);
    job = nullptr;
    lock.lock();
  }
}

void WorkerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace slipway::http

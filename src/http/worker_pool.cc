#include "http/worker_pool.h"

namespace slipway::http {

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
  if (queue_.size() > idle_ && threads_.size() < thread_limit_) threads_.emplace_back([this] { work(); });
  lock.unlock();
  wake_.notify_one();
}

void WorkerPool::work() {
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

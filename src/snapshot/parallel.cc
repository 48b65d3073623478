#include "snapshot/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace slipway::snapshot {

Status parallel_for(size_t count, size_t workers,
                    const std::function<Status(size_t worker, size_t index)>& work) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::optional<Error> error;
  const auto run = [&](size_t worker) {
    for (size_t index = next++; index < count; index = next++) {
      Status done = work(worker, index);
      if (done) continue;
      next = count;
      const std::lock_guard lock(mutex);
      if (!error) error = std::move(done).error();
    }
  };
  {
    std::vector<std::jthread> others;
    for (size_t worker = 1; worker < std::min(workers, count); ++worker) others.emplace_back(run, worker);
    run(0);
  }
  if (error) return fail(*error);
  return {};
}

}  // namespace slipway::snapshot

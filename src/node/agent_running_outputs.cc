#include "node/agent_running_outputs.h"

#include "base/log.h"

namespace slipway::node {

// A walk through very many files is repeated the more seldom the longer it takes: at most a twentieth of the
// time.
constexpr int kRestFactor = 20;

void RunningOutputs::look() {
  const Monotonic begin = std::chrono::steady_clock::now();
  if (busy_ || (!hurried_ && begin < next_)) return;
  if (!uploads_.try_acquire()) return;
  hurried_ = false;
  std::vector<FoundFile> due = keeper_.due(settled_);
  std::vector<FoundFile> data_due = data_.due(settled_);
  const Monotonic end = std::chrono::steady_clock::now();
  next_ = end + std::max<Monotonic::duration>(every_, (end - begin) * kRestFactor);
  if (due.empty() && data_due.empty()) {
    uploads_.release();
    return;
  }
  busy_ = true;
  thread_ = std::jthread([this, due = std::move(due), data_due = std::move(data_due)] {
    Status kept = keeper_.keep(due);
    if (kept) kept = data_.keep(data_due);
    if (!kept) log_info("agent.outputs_later", {{"error", kept.error()}});
    uploads_.release();
    busy_ = false;
  });
}

void RunningOutputs::join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace slipway::node

#include "node/agent_signals.h"

#include "node/agent_link.h"

namespace slipway::node {

void AttemptSignals::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wakeup_.raise();
}

void AttemptSignals::fence() {
  {
    const std::lock_guard lock(mutex_);
    fenced_ = true;
  }
  wakeup_.raise();
}

bool AttemptSignals::cancel(const CancelOrder& order) {
  {
    const std::lock_guard lock(mutex_);
    if (cancel_ && (cancel_->kill || !order.kill)) return false;
    cancel_ = order;
  }
  wakeup_.raise();
  return true;
}

bool AttemptSignals::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

bool AttemptSignals::fenced() const {
  const std::lock_guard lock(mutex_);
  return fenced_;
}

std::optional<CancelOrder> AttemptSignals::canceled() const {
  const std::lock_guard lock(mutex_);
  return cancel_;
}

bool AttemptSignals::interrupted() const {
  const std::lock_guard lock(mutex_);
  return stopped_ || fenced_;
}

bool AttemptSignals::pause(Duration duration) {
  const Monotonic end = std::chrono::steady_clock::now() + duration;
  while (!interrupted()) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return true;
    wakeup_.wait(std::chrono::ceil<Duration>(left));
  }
  return false;
}

Status AttemptSignals::insist(const std::function<Status()>& call, const std::function<bool()>& wanted) {
  Backoff backoff;
  while (true) {
    Status answer = call();
    if (answer || verdict(answer.error()) != Verdict::kRepeat) return answer;
    if (!pause(backoff.next()) || (wanted && !wanted())) return answer;
  }
}

}  // namespace slipway::node

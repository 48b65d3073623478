#include "node/agent_held.h"

#include "base/log.h"

namespace slipway::node {

// Each is a thread; a node has a place for far fewer jobs than this.
constexpr size_t kMaxHeld = 512;

HeldAttempts::~HeldAttempts() {
  stop_all();
}

void HeldAttempts::take_up(const AttemptKey& key, Standing standing) {
  std::unique_ptr<HeldAttempt> ended;  // joined outside the lock
  const std::lock_guard lock(mutex_);
  const auto found = attempts_.find(key);
  if (found != attempts_.end()) {
    if (!found->second->done()) return;
    ended = std::move(found->second);
    attempts_.erase(found);
  }
  if (attempts_.size() >= kMaxHeld) {
    log_error("agent.too_many_attempts", {{"attempt", to_text(key)}, {"held", attempts_.size()}});
    return;
  }
  attempts_.emplace(key, std::make_unique<HeldAttempt>(site_, key, standing, on_change_));
}

void HeldAttempts::cancel(const AttemptKey& key, const CancelOrder& order) {
  const std::lock_guard lock(mutex_);
  if (const auto found = attempts_.find(key); found != attempts_.end()) found->second->cancel(order);
}

void HeldAttempts::fence(const AttemptKey& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = attempts_.find(key); found != attempts_.end()) found->second->fence();
}

void HeldAttempts::wake(const AttemptKey& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = attempts_.find(key); found != attempts_.end()) found->second->wake();
}

std::vector<AttemptKey> HeldAttempts::keys() const {
  std::vector<AttemptKey> keys;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, attempt] : attempts_) {
    if (!attempt->done()) keys.push_back(key);
  }
  return keys;
}

bool HeldAttempts::empty() const {
  const std::lock_guard lock(mutex_);
  return attempts_.empty();
}

void HeldAttempts::reap() {
  std::vector<std::unique_ptr<HeldAttempt>> ended;  // joined outside the lock
  const std::lock_guard lock(mutex_);
  for (auto at = attempts_.begin(); at != attempts_.end();) {
    if (at->second->done()) {
      ended.push_back(std::move(at->second));
      at = attempts_.erase(at);
    } else {
      ++at;
    }
  }
}

void HeldAttempts::stop_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, attempt] : attempts_) attempt->stop();
}

}  // namespace slipway::node

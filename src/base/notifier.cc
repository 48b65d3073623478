#include "base/notifier.h"

namespace slipway {

Notifier::Subscription::~Subscription() {
  if (notifier_ != nullptr) notifier_->unsubscribe(topic_, key_);
}

Notifier::Subscription Notifier::subscribe(std::string topic, std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  Subscription subscription;
  subscription.notifier_ = this;
  subscription.key_ = next_key_++;
  callbacks_[topic].emplace(subscription.key_, std::move(callback));
  subscription.topic_ = std::move(topic);
  return subscription;
}

void Notifier::notify(std::string_view topic) {
  const std::lock_guard lock(mutex_);
  const auto found = callbacks_.find(topic);
  if (found == callbacks_.end()) return;
  for (const auto& [key, callback] : found->second) callback();
}

void Notifier::unsubscribe(const std::string& topic, uint64_t key) {
  const std::lock_guard lock(mutex_);
  const auto found = callbacks_.find(topic);
  if (found == callbacks_.end()) return;
  found->second.erase(key);
  if (found->second.empty()) callbacks_.erase(found);
}

}  // namespace slipway

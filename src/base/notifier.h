// Wake-ups by topic: "something about run X changed". The news itself is always read from the store, so a
// wake-up that comes twice, late or for nothing does no harm, and none is lost while a subscription lives.
// Thread-safe. Callbacks run on the notifying thread and must only signal (post, set a flag), never block.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace slipway {

class Notifier {
 public:
  // Ends the subscription on destruction; afterwards the callback is not running and will not run.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(Subscription&& other) noexcept { swap(other); }
    Subscription& operator=(Subscription&& other) noexcept {
      swap(other);
      return *this;
    }
    ~Subscription();

   private:
    friend class Notifier;
    void swap(Subscription& other) noexcept {
      std::swap(notifier_, other.notifier_);
      std::swap(topic_, other.topic_);
      std::swap(key_, other.key_);
    }
    Notifier* notifier_ = nullptr;
    std::string topic_;
    uint64_t key_ = 0;
  };

  [[nodiscard]] Subscription subscribe(std::string topic, std::function<void()> callback);
  void notify(std::string_view topic);

 private:
  void unsubscribe(const std::string& topic, uint64_t key);

  std::mutex mutex_;
  uint64_t next_key_ = 1;
  std::map<std::string, std::map<uint64_t, std::function<void()>>, std::less<>> callbacks_;
};

}  // namespace slipway

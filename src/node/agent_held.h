// The attempts this node holds, by key. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "node/agent_attempt.h"

namespace slipway::node {

class HeldAttempts {
 public:
  // `on_change` is called from any thread when one is done; it must only signal. The site outlives this.
  HeldAttempts(const AttemptSite& site, std::function<void()> on_change)
      : site_(site), on_change_(std::move(on_change)) {}
  // Stops and joins all; where the link has been stopped, no call is waited for.
  ~HeldAttempts();

  // Takes one up. Nothing when it is held already, so that an order may come twice, or when there are far too
  // many.
  void take_up(const AttemptKey& key, Standing standing);
  // Nothing when it is not held: it has ended, or its start is still to come and the server repeats itself.
  void cancel(const AttemptKey& key, const CancelOrder& order);
  void fence(const AttemptKey& key);
  // Something it waits for at the server may have come.
  void wake(const AttemptKey& key);

  std::vector<AttemptKey> keys() const;
  bool empty() const;
  // Lets go of those that are done.
  void reap();
  // Tells all to stop, and waits for none.
  void stop_all();

 private:
  const AttemptSite& site_;
  const std::function<void()> on_change_;
  mutable std::mutex mutex_;
  std::map<AttemptKey, std::unique_ptr<HeldAttempt>> attempts_;
};

}  // namespace slipway::node

// Wakes the session of an event stream: on news, or when its peer has gone.
#pragma once

#include <atomic>
#include <boost/asio/post.hpp>
#include <memory>

#include "http/session.h"

namespace slipway::http {

// Shared by the session and the Notifier's callbacks.
struct StreamWakeup : std::enable_shared_from_this<StreamWakeup> {
  explicit StreamWakeup(const Executor& executor) : timer(executor) {}

  // From any thread; only signals. The timer itself is the shard's.
  void signal() {
    if (signalled.exchange(true)) return;
    asio::post(timer.get_executor(), [self = shared_from_this()] { self->timer.cancel(); });
  }

  Timer timer;
  std::atomic<bool> signalled = false;
  bool peer_gone = false;
};

}  // namespace slipway::http

// What all connections of one server share.
#pragma once

#include <atomic>
#include <optional>

#include "base/notifier.h"
#include "http/gateway.h"
#include "http/hosts.h"
#include "http/server.h"
#include "http/tls.h"
#include "http/worker_pool.h"

namespace slipway::http {

struct Site {
  Site(ServerOptions chosen, const Router& routes, Authoriser& gate, Notifier& wakeups, Gateway* passage)
      : options(std::move(chosen)),
        router(routes),
        gateway(passage),
        authoriser(gate),
        notifier(wakeups),
        hosts(options.address, options.allowed_hosts),
        handlers(options.workers, options.limits.queued_requests),
        uploads(options.workers, options.limits.queued_requests) {}

  const ServerOptions options;
  const Router& router;
  Gateway* const gateway;  // null: nothing is passed on
  Authoriser& authoriser;
  Notifier& notifier;
  const HostRule hosts;
  std::optional<TlsContext> tls;
  WorkerPool handlers;
  // A handler that pulls a body waits for its peer: those have threads of their own, so that slow peers hold
  // up nobody else.
  WorkerPool uploads;

  std::atomic<bool> stopping = false;
  std::atomic<uint64_t> requests = 0;
  std::atomic<uint64_t> open_connections = 0;
  std::atomic<uint64_t> rejected_connections = 0;
};

}  // namespace slipway::http

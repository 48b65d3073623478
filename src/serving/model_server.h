// The model server: one process, one model, every protocol. Runs until it is told to stop, then lets the
// requests in progress end.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/secret.h"
#include "http/server.h"
#include "serving/batcher.h"
#include "serving/load.h"

namespace slipway::serving {

struct ServeSettings {
  LoadOptions load;
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any free one
  std::optional<http::TlsFiles> tls;
  std::vector<Secret> keys;  // clients give one as `Authorization: Bearer KEY`; none: nobody is asked
  BatchLimits batch;
  std::chrono::milliseconds timeout{60'000};  // of one request
  uint64_t body_limit = 64 << 20;
  size_t connections = 16384;
  std::chrono::milliseconds grace{30'000};  // for requests in progress when it is told to stop
  unsigned io_threads = 2;
  // Called once requests are answered; when it fails the server ends with that failure.
  std::function<Status(const LoadedModel& loaded, const std::string& url)> on_ready;
  // Returns when the server is to stop. Called on the thread that serves.
  std::function<void()> wait_for_stop;
};

// Loads, serves, drains. The message of a failure says what to do.
Status serve(const ServeSettings& settings);

}  // namespace slipway::serving

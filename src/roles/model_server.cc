#include "roles/model_server.h"

#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "roles/file_limit.h"
#include "roles/stop_signal.h"

namespace slipway::roles {
namespace {

// Bodies and tensors of a few hundred kilobytes come and go with each request: taken from the kernel anew
// they cost more in page faults than the model does in computing (204 us a batch of 32 pictures, against 102
// us).
void keep_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

}  // namespace

Status run_model_server(const serving::ServeSettings& settings) {
  StopSignal stop;
  raise_file_limit();
  keep_memory();
  std::atomic<bool> leaving_is_ordered = false;
  serving::ServeSettings complete = settings;
  complete.on_ready = [&](const serving::LoadedModel& loaded, const std::string& url) -> Status {
    leaving_is_ordered = true;
    if (settings.on_ready) return settings.on_ready(loaded, url);
    return {};
  };
  complete.wait_for_stop = [&stop] { stop.wait(); };
  // While the model loads there is nothing to end in order, and loading cannot be interrupted in another way.
  std::thread impatience([&] {
    stop.wait();
    if (!leaving_is_ordered) ::_exit(128 + SIGTERM);
  });
  Status served = serving::serve(complete);
  leaving_is_ordered = true;
  stop.raise(false);
  impatience.join();
  return served;
}

}  // namespace slipway::roles

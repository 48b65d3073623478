#include "roles/stop_signal.h"

#include <pthread.h>
#include <signal.h>

namespace slipway::roles {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGUSR2);  // our own, to end the watcher
  return set;
}

}  // namespace

StopSignal::StopSignal() {
  const sigset_t set = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  watcher_ = std::thread([this] { watch(); });
}

StopSignal::~StopSignal() {
  ::pthread_kill(watcher_.native_handle(), SIGUSR2);
  watcher_.join();
}

void StopSignal::watch() {
  const sigset_t set = stop_signals();
  while (true) {
    int signal = 0;
    if (::sigwait(&set, &signal) != 0 || signal == SIGUSR2) return;
    raise(false);
  }
}

void StopSignal::raise(bool cancel_runs) {
  {
    const std::lock_guard lock(mutex_);
    raised_ = true;
    cancel_runs_ = cancel_runs_ || cancel_runs;
  }
  changed_.notify_all();
}

void StopSignal::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return raised_; });
}

}  // namespace slipway::roles

#include "cli/interruption.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <array>
#include <csignal>
#include <cstdint>

namespace slipway::cli {
namespace {

constexpr int kAgainMilliseconds = 50;

sigset_t the_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

Interruption::Interruption(std::function<void()> on_signal) : on_signal_(std::move(on_signal)) {
  const sigset_t set = the_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  thread_ = std::thread([this] { wait(); });
}

Interruption::~Interruption() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
  const sigset_t set = the_signals();
  // What came and was taken for a wish to detach must not end the process a moment later.
  signalfd_siginfo pending{};
  while (::read(signals_.get(), &pending, sizeof pending) > 0) {
  }
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Interruption::wait() {
  std::array<pollfd, 2> fds{pollfd{stop_.get(), POLLIN, 0}, pollfd{signals_.get(), POLLIN, 0}};
  while (true) {
    const int ready = ::poll(fds.data(), happened_ ? 1 : 2, happened_ ? kAgainMilliseconds : -1);
    if (ready > 0 && fds[0].revents != 0) return;
    if (ready > 0 && fds[1].revents != 0) happened_ = true;
    if (happened_) on_signal_();
  }
}

}  // namespace slipway::cli

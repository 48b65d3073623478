#include "node/agent_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace slipway::node {

JournalWatch::JournalWatch()
    : inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)), stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!inotify_ || !stop_) {
    log_warning("agent.watch_unavailable", {{"why", std::strerror(errno)}});
    inotify_.reset();
    return;
  }
  thread_ = std::thread([this] { run(); });
}

JournalWatch::~JournalWatch() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

JournalWatch::Watched& JournalWatch::Watched::operator=(Watched&& other) noexcept {
  std::swap(watch_, other.watch_);
  std::swap(folder_, other.folder_);
  std::swap(journal_, other.journal_);
  return *this;
}

JournalWatch::Watched::~Watched() {
  if (watch_ == nullptr) return;
  watch_->unwatch(folder_);
  watch_->unwatch(journal_);
}

JournalWatch::Watched JournalWatch::watch(const std::filesystem::path& folder, std::function<void()> wake) {
  Watched watched;
  if (!inotify_) return watched;
  const std::lock_guard lock(mutex_);
  // A supervisor that dies, however it dies, closes its lock file: that is the event in the attempt's folder.
  const int on_folder = ::inotify_add_watch(inotify_.get(), folder.c_str(), IN_CLOSE_WRITE | IN_ONLYDIR);
  const int on_journal =
      ::inotify_add_watch(inotify_.get(), (folder / "journal").c_str(), IN_MODIFY | IN_CREATE | IN_ONLYDIR);
  if (on_folder < 0 || on_journal < 0) {
    log_warning("agent.watch_failed", {{"folder", folder.string()}, {"why", std::strerror(errno)}});
    if (on_folder >= 0) ::inotify_rm_watch(inotify_.get(), on_folder);
    return watched;
  }
  wakes_[on_folder] = wake;
  wakes_[on_journal] = std::move(wake);
  watched.watch_ = this;
  watched.folder_ = on_folder;
  watched.journal_ = on_journal;
  return watched;
}

void JournalWatch::unwatch(int descriptor) {
  const std::lock_guard lock(mutex_);
  wakes_.erase(descriptor);
  ::inotify_rm_watch(inotify_.get(), descriptor);
}

void JournalWatch::run() {
  pollfd fds[] = {{inotify_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  alignas(inotify_event) char buffer[16384];
  while (true) {
    if (::poll(fds, 2, -1) < 0 && errno != EINTR) return;
    if ((fds[1].revents & POLLIN) != 0) return;
    const ssize_t count = ::read(inotify_.get(), buffer, sizeof buffer);
    if (count <= 0) continue;
    const std::lock_guard lock(mutex_);
    for (size_t at = 0; at < static_cast<size_t>(count);) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof event);
      at += sizeof event + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        for (const auto& [descriptor, wake] : wakes_) wake();
      } else if (const auto found = wakes_.find(event.wd); found != wakes_.end()) {
        found->second();
      }
    }
  }
}

}  // namespace slipway::node

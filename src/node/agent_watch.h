// Wakes whoever follows an attempt when its journal grows or its supervisor ends, by one inotify descriptor
// for all attempts (the kernel allows few of them to one user). A wake-up may come for nothing; without
// inotify none comes and followers look by themselves. Thread-safe.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/fd.h"

namespace slipway::node {

class JournalWatch {
 public:
  JournalWatch();
  ~JournalWatch();
  JournalWatch(const JournalWatch&) = delete;
  JournalWatch& operator=(const JournalWatch&) = delete;

  // Watches until destroyed; afterwards `wake` is not running and will not run.
  class Watched {
   public:
    Watched() = default;
    Watched(Watched&& other) noexcept { *this = std::move(other); }
    Watched& operator=(Watched&& other) noexcept;
    ~Watched();
    // False: this attempt's folders could not be watched.
    bool works() const { return watch_ != nullptr; }

   private:
    friend class JournalWatch;
    JournalWatch* watch_ = nullptr;
    int folder_ = -1;
    int journal_ = -1;
  };

  // `folder`: the attempt's, with its journal folder below it. `wake` must only signal.
  [[nodiscard]] Watched watch(const std::filesystem::path& folder, std::function<void()> wake);

 private:
  void run();
  void unwatch(int descriptor);

  UniqueFd inotify_;
  UniqueFd stop_;
  std::mutex mutex_;
  std::map<int, std::function<void()>> wakes_;  // by watch descriptor
  std::thread thread_;
};

}  // namespace slipway::node

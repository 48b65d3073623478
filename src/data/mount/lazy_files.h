// The files of one mount as they are read: from the cache, and into it first where it lacks them.
//
//  1. A small file is fetched whole by whoever reads it first. A large one is fetched in chunks; who reads on
//     in order finds the next ones on their way (read-ahead), and gets each as soon as it has come.
//  2. Read-ahead is done by few threads with a bounded queue. When the queue is full the reader fetches what
//     it needs itself; nothing is ever waited for that nobody does.
//  3. A read that fails because the content is not the version's any more is told to `on_mismatch`, once.
//
// Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "data/cache.h"
#include "data/fetch.h"

namespace slipway::data {

class LazyFiles {
 public:
  struct Options {
    FetchOptions fetch;
    size_t read_ahead_threads = 4;
    std::function<void(const Error&)> on_mismatch = [](const Error&) {};
  };

  // Cache and files outlive it.
  LazyFiles(FileCache& cache, std::vector<WantedFile> files, Options options);
  ~LazyFiles();
  LazyFiles(const LazyFiles&) = delete;
  LazyFiles& operator=(const LazyFiles&) = delete;

  // Reads up to `into.size()` bytes; fewer only at the end of the file. `given_up` is asked while it waits.
  Result<size_t> read(uint32_t file, uint64_t offset, std::span<char> into,
                      const std::function<bool()>& given_up);
  // The cached file when all of it is here; not fetched otherwise.
  Result<UniqueFd> open_whole(uint32_t file);

  const File& file(uint32_t index) const { return *files_[index].file; }
  const FetchProgress& progress() const { return progress_; }

 private:
  // A large file that is being read.
  struct Large {
    UniqueFd whole;                        // once all of it is here
    std::shared_ptr<PartialFile> partial;  // until then
    std::atomic<uint64_t> next_chunk = 0;  // what a reader in order would want
  };
  struct Errand {
    uint32_t file = 0;
    std::shared_ptr<Large> large;
    size_t first = 0;
    size_t count = 0;
  };

  Result<size_t> read_small(uint32_t file, uint64_t offset, std::span<char> into);
  Result<size_t> read_large(uint32_t file, uint64_t offset, std::span<char> into,
                            const std::function<bool()>& given_up);
  Result<std::shared_ptr<Large>> open_large(uint32_t file);
  void order_ahead(uint32_t file, const std::shared_ptr<Large>& large, size_t chunk);
  Status await(uint32_t file, Large& large, size_t chunk, const std::function<bool()>& given_up);
  bool push(Errand errand);
  void run_errands();
  void tell(const Error& error);

  FileCache& cache_;
  const std::vector<WantedFile> files_;
  const Options options_;
  std::atomic<bool> stopped_ = false;
  Fetcher fetcher_;
  FetchProgress progress_;
  std::once_flag told_;

  std::mutex mutex_;
  std::list<uint32_t> recent_;  // large files, the one used last in front
  std::map<uint32_t, std::pair<std::shared_ptr<Large>, std::list<uint32_t>::iterator>> open_;
  std::condition_variable has_errand_;
  std::deque<Errand> errands_;
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace slipway::data

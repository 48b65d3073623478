#include "snapshot/take.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "snapshot/hash_file.h"
#include "snapshot/stat_cache.h"

namespace slipway::snapshot {
namespace {

constexpr size_t kBufferSize = 256 << 10;
// File systems stamp files with a clock that moves once a tick, 10 ms at most.
constexpr int64_t kTickNs = 20'000'000;

int64_t wall_time_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// The work shared by the hashing threads: `todo` is taken from the front, each item by one thread.
class HashingPool {
 public:
  HashingPool(int folder_fd, const std::vector<FoundFile>& files, std::vector<size_t> todo,
              const TakeOptions& options)
      : folder_fd_(folder_fd),
        files_(files),
        todo_(std::move(todo)),
        options_(options),
        results_(files.size()) {
    for (const size_t index : todo_) bytes_total_ += files_[index].stat.size;
    // The largest first, so that no thread is left alone with one at the end.
    std::ranges::sort(todo_, std::greater(), [&](size_t index) { return files_[index].stat.size; });
  }

  // By the index of the file; set for those of `todo`.
  Result<std::vector<std::optional<HashedFile>>> run() {
    const size_t wanted = options_.threads != 0 ? options_.threads : std::thread::hardware_concurrency();
    // A thread pays for itself only when there is something to do.
    const size_t useful = bytes_total_ < kBufferSize && todo_.size() < 32 ? 1 : todo_.size();
    {
      std::vector<std::jthread> others;
      for (size_t i = 1; i < std::min(wanted, useful); ++i) others.emplace_back([this] { work(); });
      work();
    }
    if (error_) return fail(*error_);
    return std::move(results_);
  }

 private:
  void work() {
    std::vector<char> buffer(std::min<uint64_t>(kBufferSize, bytes_total_ + 4096));
    const auto on_bytes = [this](uint64_t count) {
      const uint64_t done = bytes_done_ += count;
      if (options_.on_progress)
        options_.on_progress({.bytes_done = std::min(done, bytes_total_), .bytes_total = bytes_total_});
    };
    for (size_t next = next_++; next < todo_.size() && !stop_; next = next_++) {
      const size_t index = todo_[next];
      auto hashed = hash_file(folder_fd_, files_[index].path, buffer, on_bytes);
      if (hashed) {
        results_[index] = *hashed;
        continue;
      }
      stop_ = true;
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::move(hashed).error();
    }
  }

  const int folder_fd_;
  const std::vector<FoundFile>& files_;
  std::vector<size_t> todo_;
  const TakeOptions& options_;
  std::vector<std::optional<HashedFile>> results_;
  uint64_t bytes_total_ = 0;
  std::atomic<uint64_t> bytes_done_ = 0;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

Result<Snapshot> take_snapshot(const std::filesystem::path& folder, const TakeOptions& options) {
  const int64_t started = wall_time_ns();
  SLIPWAY_ASSIGN(const UniqueFd source, open_source(folder));
  SLIPWAY_ASSIGN(Walk walk, walk_folder(source.get(), options.limits));
  const StatCache cache = StatCache::load(options.cache_file);

  std::vector<std::optional<Digest>> known(walk.files.size());
  std::vector<size_t> todo;
  for (size_t i = 0; i < walk.files.size(); ++i) {
    known[i] = cache.find(walk.files[i].path, walk.files[i].stat);
    if (!known[i]) todo.push_back(i);
  }
  Snapshot snapshot;
  snapshot.hashed_files = todo.size();
  SLIPWAY_ASSIGN(const auto hashed, HashingPool(source.get(), walk.files, std::move(todo), options).run());

  std::vector<Entry> entries;
  std::vector<CachedFile> to_cache;
  bool cache_changed = false;
  entries.reserve(walk.files.size());
  for (size_t i = 0; i < walk.files.size(); ++i) {
    FoundFile& file = walk.files[i];
    if (hashed[i]) {
      known[i] = hashed[i]->digest;
      file.stat = hashed[i]->stat;
      file.mode = hashed[i]->mode;
    }
    if (std::max(file.stat.mtime_ns, file.stat.ctime_ns) < started - kTickNs) {
      to_cache.push_back({.path = file.path, .stat = file.stat, .digest = *known[i]});
      cache_changed = cache_changed || hashed[i];
    }
    entries.push_back({.path = file.path, .mode = file.mode, .size = file.stat.size, .digest = *known[i]});
  }
  if (cache_changed || to_cache.size() != cache.size()) store_stat_cache(options.cache_file, to_cache);
  SLIPWAY_ASSIGN(snapshot.manifest, Manifest::from_entries(std::move(entries)));
  snapshot.skipped = std::move(walk.skipped);
  return snapshot;
}

}  // namespace slipway::snapshot

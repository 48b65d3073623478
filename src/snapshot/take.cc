#include "snapshot/take.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "snapshot/hash_file.h"
#include "snapshot/parallel.h"
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

// By the index of the file; set for those of `todo`.
using HashedFiles = std::vector<std::optional<HashedFile>>;

Result<HashedFiles> hash_files(int folder_fd, const std::vector<FoundFile>& files, std::vector<size_t> todo,
                               const TakeOptions& options) {
  HashProgress whole;
  for (const size_t index : todo) whole.bytes_total += files[index].stat.size;
  // The largest first, so that no thread is left alone with one at the end.
  std::ranges::sort(todo, std::greater(), [&](size_t index) { return files[index].stat.size; });
  std::atomic<uint64_t> bytes_done = 0;
  const auto on_bytes = [&](uint64_t count) {
    const uint64_t done = bytes_done += count;
    if (options.on_progress)
      options.on_progress(
          {.bytes_done = std::min(done, whole.bytes_total), .bytes_total = whole.bytes_total});
  };

  // A thread pays for itself only when there is something to do.
  const bool little = whole.bytes_total < kBufferSize && todo.size() < 32;
  const size_t wanted = options.threads != 0 ? options.threads : std::thread::hardware_concurrency();
  const size_t threads = little ? 1 : std::max<size_t>(wanted, 1);
  std::vector<std::vector<char>> buffers(threads);
  HashedFiles hashed(files.size());
  SLIPWAY_TRY(parallel_for(todo.size(), threads, [&](size_t worker, size_t next) -> Status {
    if (buffers[worker].empty())
      buffers[worker].resize(std::min<uint64_t>(kBufferSize, whole.bytes_total + 4096));
    SLIPWAY_ASSIGN(hashed[todo[next]],
                   hash_file(folder_fd, files[todo[next]].path, buffers[worker], on_bytes));
    return {};
  }));
  return hashed;
}

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
  SLIPWAY_ASSIGN(const HashedFiles hashed, hash_files(source.get(), walk.files, std::move(todo), options));

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

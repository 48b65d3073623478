// Many files fetched at once: what each of the workers of one Fetcher::fetch_all takes next.
//
// A unit of work is a small file or a span of a large one. Workers take units in the files' order, so that a
// large file is read from its beginning by all of them together; who completes a file gives it away.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "data/fetch.h"

namespace slipway::data {

class FetchBatch {
 public:
  // Chunks of one request.
  static constexpr size_t kSpan = 8;

  // All outlive it.
  FetchBatch(Fetcher& fetcher, FileCache& cache, std::span<const WantedFile> files, FetchProgress& progress,
             const Fetcher::Place& place);

  // On up to `workers` threads, this one among them; the first failure, after which nothing new is begun.
  Status run(size_t workers);

 private:
  struct Unit {
    uint32_t file = 0;
    uint32_t span = 0;  // of a large file
  };
  // A large file while its spans are being fetched.
  struct Large {
    std::mutex mutex;
    bool opened = false;
    std::shared_ptr<PartialFile> partial;  // null: it was in the cache
    std::atomic<uint32_t> spans_left = 0;
  };

  Status carry_out(const Unit& unit);
  Status fetch_span(const WantedFile& file, Large& large, size_t span);
  Status open(const WantedFile& file, Large& large);
  Status give(const WantedFile& file);

  Fetcher& fetcher_;
  FileCache& cache_;
  const std::span<const WantedFile> files_;
  FetchProgress& progress_;
  const Fetcher::Place& place_;
  std::vector<Unit> units_;
  std::unordered_map<uint32_t, Large> large_;  // not changed once the workers run
};

}  // namespace slipway::data

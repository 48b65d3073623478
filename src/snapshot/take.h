// Takes the snapshot of a source folder: walk, digests, manifest.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/manifest.h"
#include "snapshot/walk.h"

namespace slipway::snapshot {

struct HashProgress {
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;  // of the files that are not known from the cache
};

struct TakeOptions {
  WalkLimits limits = {};
  std::filesystem::path cache_file = {};  // stat_cache_path(folder); empty: every file is hashed
  unsigned threads = 0;                   // that hash; 0: one for each core
  // Called now and then from several threads at once; may be empty.
  std::function<void(const HashProgress&)> on_progress = {};
};

struct Snapshot {
  Manifest manifest;
  std::vector<SkippedFile> skipped;
  size_t hashed_files = 0;  // 0: nothing has changed since the last snapshot of this folder
};

// Errors: those of open_source, walk_folder and hash_file. Leaves nothing behind but the cache.
Result<Snapshot> take_snapshot(const std::filesystem::path& folder, const TakeOptions& options = {});

}  // namespace slipway::snapshot

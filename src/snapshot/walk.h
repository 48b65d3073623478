// Finds the files of a source folder. No link is followed, nothing is opened but folders and ignore files.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "snapshot/manifest.h"

namespace slipway::snapshot {

struct WalkLimits {
  size_t files = kMaxEntries;
  uint64_t bytes = 10ULL << 30;
};

// What tells a file's content apart without reading it.
struct FileStat {
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  uint64_t inode = 0;
  bool operator==(const FileStat&) const = default;
};

FileStat file_stat(const struct stat& status);
// 0755 when its owner may execute it, else 0644.
int kept_mode(const struct stat& status);

struct FoundFile {
  std::string path;
  int mode = 0644;
  FileStat stat;
};

struct SkippedFile {
  std::string path;  // as UTF-8; bytes that are not are shown as "?"
  std::string why;   // "a symbolic link", "a socket", ...
};

struct Walk {
  std::vector<FoundFile> files;      // in the order of their paths
  std::vector<SkippedFile> skipped;  // the same; what an ignore file leaves out is not among them
  uint64_t bytes = 0;
};

// Opens a source folder; the errors are those a person who named it should read.
Result<UniqueFd> open_source(const std::filesystem::path& folder);

// kInvalidArgument, naming it, for a file or folder that cannot be read; kTooLarge beyond the limits, naming
// the largest files.
Result<Walk> walk_folder(int folder_fd, const WalkLimits& limits = {});

}  // namespace slipway::snapshot

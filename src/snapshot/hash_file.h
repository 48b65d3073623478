// The digest of a file that someone may be writing to.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "base/digest.h"
#include "base/result.h"
#include "snapshot/walk.h"

namespace slipway::snapshot {

constexpr int kReadsOfAChangingFile = 3;

struct HashedFile {
  Digest digest;
  int mode = 0644;
  FileStat stat;
};

// Called with the number of bytes after each piece that was read.
using OnBytes = std::function<void(uint64_t)>;

// Reads the file `path` below the folder. One that changes meanwhile is read again, kReadsOfAChangingFile
// times in all; then kConflict, naming it. kInvalidArgument when it cannot be read. `buffer` is working
// space.
Result<HashedFile> hash_file(int folder_fd, const std::string& path, std::span<char> buffer,
                             const OnBytes& on_bytes);

}  // namespace slipway::snapshot

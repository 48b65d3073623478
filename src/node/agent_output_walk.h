// Finds what a job has left in ./outputs. Whatever lies there, the walk stays inside and never blocks: links
// are not followed, FIFOs and devices not opened.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/fd.h"
#include "base/result.h"

namespace slipway::node {

// A file as it was at one moment: two equal stamps mean that it has not been written in between.
struct FileStamp {
  uint64_t size = 0;
  uint64_t inode = 0;
  int64_t modified_nanos = 0;
  int64_t changed_nanos = 0;
  bool operator==(const FileStamp&) const = default;
};

struct FoundFile {
  std::string path;  // below the working folder: "outputs/model/weights.bin"
  int mode = 0644;
  FileStamp stamp;
};

struct SkippedFile {
  std::string path;  // readable: bytes that are not UTF-8 are written as \xNN
  std::string why;
};

struct FoundOutputs {
  std::vector<FoundFile> files;  // sorted by path
  std::vector<SkippedFile> skipped;
};

// All regular files below `folder` of the working folder; everything else is listed with the reason. A
// missing folder is an empty one.
FoundOutputs walk_outputs(int work_fd, const std::string& folder);

// A file of the working folder, open for reading: kNotFound, kInvalidArgument for a path that leaves the
// folder or for something that is not a regular file.
struct OpenedFile {
  UniqueFd fd;
  FoundFile file;
};
Result<OpenedFile> open_output(int work_fd, const std::string& path);

}  // namespace slipway::node

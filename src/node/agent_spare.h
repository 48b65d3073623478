// The folders of attempts: made, cleared away, and, where a job has left nothing in them, used again. Short
// jobs by the hundred would otherwise spend much of their time in the file system, making and deleting the
// same few folders.
//
// A folder leaves attempts/ by one rename, to spare/, and is emptied there: whatever is in spare/ when an
// agent starts is of no use and is removed. Thread-safe.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"

namespace slipway::node {

class AttemptFolders {
 public:
  // `spare`: nodes/<node>/spare, on the file system of the attempts.
  explicit AttemptFolders(std::filesystem::path spare);

  // Makes the attempt's folder with journal/ and work/ and the folders a job finds there: ./outputs, ./logs.
  // One that is there, of an interrupted preparation, is completed.
  Status make(const std::filesystem::path& folder);

  // Removes the folder of an attempt that is over; no supervisor lives in it. When that fails half-way, the
  // next agent knows by `finished` or by its place in spare/ that it may go.
  Status remove(const std::filesystem::path& folder);

 private:
  bool reuse(const std::filesystem::path& folder);

  const std::filesystem::path spare_;
  std::mutex mutex_;
  std::vector<std::filesystem::path> ready_;
  uint64_t next_name_ = 0;
};

}  // namespace slipway::node

// The logs of runs: append-only files by (run, attempt, rank, name), addressed by byte offset.
//
// Invariants
//   1. Bytes are never changed once written; a repeated append of bytes that are there already does nothing.
//   2. `append` returns only after the bytes are on disk.
//   3. A log whose bytes come from two channels has an index beside it: entries (offset, channel), one at
//   each change,
//      so that stdout and stderr stand interleaved as they came and each can be read alone.
// Names come from nodes and are never used as paths: a file's name is an encoding of the log's.
// Thread-safe for different attempts; one attempt's appends come one after the other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "journal/record.h"
#include "protocol/node.h"

namespace slipway::runs {

struct LogInfo {
  std::string name;
  int attempt = 1;
  int rank = 0;
  uint64_t size = 0;
};

// A stretch of one channel.
struct LogStretch {
  uint64_t offset = 0;
  uint64_t length = 0;
  journal::Channel channel = journal::Channel::kNone;
};

class LogStore {
 public:
  explicit LogStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Writes what is new of the chunks of one batch, then syncs each file it touched. kInternal when a chunk
  // begins beyond the end of its log: bytes would be missing.
  Status append(const AttemptKey& attempt, const std::vector<journal::LogChunk>& chunks);

  // All logs of the run, by attempt, rank and name.
  Result<std::vector<LogInfo>> list(const RunId& run) const;
  // Opens it for reading. kNotFound.
  Result<UniqueFd> open(const AttemptKey& attempt, const std::string& name, uint64_t* size) const;
  // The channels of [offset, offset + length).
  Result<std::vector<LogStretch>> stretches(const AttemptKey& attempt, const std::string& name,
                                            uint64_t offset, uint64_t length) const;
  Status remove(const RunId& run);
  // Every run that has logs here.
  std::vector<RunId> runs() const;

 private:
  std::filesystem::path folder_of(const AttemptKey& attempt) const;
  std::filesystem::path folder_;
};

// The file name of a log: letters, digits, '-', '_' and '.' stay (a leading dot does not), all else becomes
// %XX. Supervisors follow only files whose encoded name fits a file system (200 bytes).
std::string encode_log_name(std::string_view name);
Result<std::string> decode_log_name(std::string_view file_name);

}  // namespace slipway::runs

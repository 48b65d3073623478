// Reads a journal while its writer appends. Not thread-safe.
//
// Only whole records are handed out; what stands after the last of them is taken to be still on its way. The
// segment being read must not be removed before it has been read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace slipway::journal {

class Reader {
 public:
  // `position` is the start of a record: 0, or what an earlier read ended at.
  explicit Reader(std::filesystem::path folder, uint64_t position = 0)
      : folder_(std::move(folder)), position_(position) {}

  struct Chunk {
    uint64_t position = 0;   // of the first byte
    std::string_view bytes;  // whole records; into the reader, until the next call. Empty: nothing new
    bool has_exit = false;   // the last record is the exit record: the journal ends here
  };

  // Up to `max_bytes` of whole records, or one record when it alone is larger. kNotFound: the position lies
  // before the first segment; kInternal: a damaged record at the position.
  Result<Chunk> read(size_t max_bytes);

  uint64_t position() const { return position_; }  // of the next record
  void seek(uint64_t position);

 private:
  Status open_segment();
  Result<std::string_view> fill(size_t max_bytes);

  std::filesystem::path folder_;
  uint64_t position_;
  UniqueFd segment_;
  uint64_t segment_start_ = 0;
  std::optional<uint64_t> damaged_at_;
  std::string buffer_;
};

}  // namespace slipway::journal

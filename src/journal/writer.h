// Appends to a journal. One writer at a time: the holder of the attempt's lock. Not thread-safe.
//
// 1. Records gather in a batch and reach the file in one writev; a batch is written whole or not at all.
// 2. A failed batch leaves no trace: the file is cut back and the sequence goes on without a gap.
// 3. A record lies in one segment; a segment that is full is never touched again.
// 4. Positions and sequence numbers only grow, across segments and across re-opening.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "journal/record.h"

namespace slipway::journal {

class Writer {
 public:
  static constexpr uint64_t kSegmentBytes = 64 << 20;

  // Creates the folder where it lacks, cuts a torn tail, and goes on after the last whole record.
  static Result<Writer> open(const std::filesystem::path& folder, uint64_t segment_bytes = kSegmentBytes);

  // Adds to the batch. Payloads beyond kMaxPayload are a defect of the caller.
  void add(Kind kind, Timestamp time, std::string_view payload);
  // Adds a log record without copying: `chunk.bytes` must stay as they are until the next flush.
  void add_log(Timestamp time, const LogChunk& chunk);

  // Writes the batch. On an error (kStorageFull: no space) the batch is gone and the journal as it was
  // before.
  Status flush();
  // Makes all that was flushed durable.
  Status sync();
  // Starts writing to the disk what was flushed, without waiting for it.
  void start_sync();

  bool batch_empty() const { return batch_.empty(); }
  uint64_t end() const { return segment_start_ + segment_size_; }  // of what was flushed
  uint64_t unsynced_bytes() const { return unsynced_; }
  // The last whole record was an exit record: nothing more may be written.
  bool ended() const { return ended_; }

 private:
  struct Piece {
    std::string own;        // header and the copied part of the payload
    std::string_view rest;  // the part that was not copied
  };

  Writer(std::filesystem::path folder, uint64_t segment_bytes)
      : folder_(std::move(folder)), segment_bytes_(segment_bytes) {}
  Status open_segment(uint64_t start);
  Status recover();
  Status write_batch();
  Status next_segment();

  std::filesystem::path folder_;
  uint64_t segment_bytes_;
  UniqueFd segment_;
  uint64_t segment_start_ = 0;
  uint64_t segment_size_ = 0;
  uint64_t next_sequence_ = 1;
  uint64_t unsynced_ = 0;
  std::vector<UniqueFd> unsynced_segments_;  // full ones; a few at most
  bool folder_synced_ = false;
  bool torn_ = false;  // a failed batch could not be cut off yet
  bool ended_ = false;
  std::vector<Piece> batch_;
  uint64_t batch_bytes_ = 0;
};

}  // namespace slipway::journal

// Appends to a journal. One writer at a time: the holder of the attempt's lock. Not thread-safe.
//
// 1. Records gather in a batch and reach the file in one writev.
// 2. A whole record that reached the file stays, even when the rest of its batch found no space: a reader may
//    have shipped it already. The torn one after it is cut off, and the sequence goes on without a gap.
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

  // Writes the batch. On an error (kStorageFull: no space) its first flushed_records() are in the journal and
  // the others are gone.
  Status flush();
  size_t flushed_records() const { return flushed_records_; }  // of the last batch
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
    size_t size() const { return own.size() + rest.size(); }
  };

  Writer(std::filesystem::path folder, uint64_t segment_bytes)
      : folder_(std::move(folder)), segment_bytes_(segment_bytes) {}
  Status open_segment(uint64_t start);
  Status recover();
  Status write_batch(uint64_t& written);
  void take_into_account(uint64_t written);
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
  bool torn_ = false;  // the end of a failed batch could not be cut off yet
  bool ended_ = false;
  std::vector<Piece> batch_;
  uint64_t batch_bytes_ = 0;
  size_t flushed_records_ = 0;
};

}  // namespace slipway::journal

// What the supervisor sees, on its way into the journal: within the log quota, and without ever stopping the
// job when the disk is full.
//
// 1. Log bytes may be dropped (quota, full disk); each gap is said in a mark record, and the offset of a
// stream counts
//    the bytes that were kept, so that what is there has no hole.
// 2. Other records are kept in memory while the disk is full, up to a bound, and written once there is space.
// 3. The exit record is the last; with it everything becomes durable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "journal/record.h"
#include "journal/writer.h"

namespace slipway::node {

// Not thread-safe.
class JournalFeed {
 public:
  // `clock` outlives it. quota_bytes: of all log streams together; 0: none.
  JournalFeed(journal::Writer writer, std::filesystem::path folder, uint64_t quota_bytes, const Clock& clock)
      : writer_(std::move(writer)), folder_(std::move(folder)), quota_(quota_bytes), clock_(clock) {}

  // At most kMaxChunk bytes, which stay as they are until the next flush.
  static constexpr size_t kMaxChunk = 1 << 20;
  void log(const std::string& stream, journal::Channel channel, std::string_view bytes);
  void record(journal::Kind kind, std::string payload);
  // Log bytes that the supervisor itself could not take: a gap to be said.
  void dropped(const std::string& stream, uint64_t bytes, std::string why);

  // The stream has `offset` bytes in the journal already, which count towards the quota.
  void go_on(const std::string& stream, uint64_t offset) {
    offsets_[stream] = offset;
    kept_bytes_ += offset;
  }

  // Writes what was added. Once a second at most it also sees to the bytes' way to the disk.
  void flush();
  // A record that should be on the disk soon was flushed.
  void sync_soon() { sync_at_ = std::min(sync_at_, clock_.monotonic() + kSoon); }
  // When flush should be called again even if nothing happens.
  Monotonic next_flush() const;

  // Adds the exit record and makes all durable. An error: there is no space, or the disk fails; may be called
  // again.
  Status finish(const std::string& exit_payload);

 private:
  static constexpr Duration kSoon = std::chrono::milliseconds(50);
  static constexpr Duration kSyncEvery = std::chrono::seconds(1);
  static constexpr Duration kRetryEvery = std::chrono::milliseconds(500);
  static constexpr uint64_t kMaxPendingBytes = 16 << 20;
  static constexpr uint64_t kMaxSyncedAtOnce = 4 << 20;
  static constexpr uint64_t kReserve = 16 << 20;
  static constexpr size_t kMaxGaps = 1000;

  struct Pending {
    journal::Kind kind;
    Timestamp time;
    std::string payload;
  };
  struct Kept {
    std::string stream;
    journal::Channel channel;
    std::string_view bytes;
  };
  struct Gap {
    uint64_t bytes = 0;     // not said yet
    bool said = false;      // that there is one
    uint64_t in_batch = 0;  // of the bytes, said in the batch that is being written
  };

  Status write(const std::string* exit_payload);
  void settle(size_t count);
  void add_marks(Timestamp now, bool all);
  void marks_written(size_t count);
  void say_gaps_again();
  bool space_is_low();
  void sync_if_due();

  journal::Writer writer_;
  std::filesystem::path folder_;
  uint64_t quota_;
  const Clock& clock_;

  std::vector<Kept> logs_;
  std::vector<Pending> pending_;
  uint64_t pending_bytes_ = 0;
  std::map<std::string, uint64_t> offsets_;  // by stream: bytes kept
  uint64_t kept_bytes_ = 0;
  std::map<std::pair<std::string, std::string>, Gap> gaps_;  // by stream and reason
  bool unsaid_ = false;                                      // some gap has not been said at all

  bool full_ = false;  // the last write failed
  bool low_ = false;   // too little space is left for log bytes
  Monotonic retry_at_ = Monotonic::min();
  uint64_t unchecked_bytes_ = 0;  // since the free space was last looked at
  uint64_t allowance_ = 1 << 20;  // how many may be written before it is looked at again
  uint64_t unsynced_ = 0;         // log bytes since the last sync
  Monotonic sync_at_ = Monotonic::max();
};

}  // namespace slipway::node

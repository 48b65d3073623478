#include "node/supervisor_feed.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>

#include "base/json.h"
#include "base/log.h"

namespace slipway::node {
namespace {

using journal::Kind;

constexpr std::string_view kOther = "(metrics and samples)";
constexpr std::string_view kFull = "the disk of the node was full";

std::string mark_payload(std::string_view stream, uint64_t bytes, std::string_view why) {
  return json::serialize(json::object{{"stream", stream}, {"dropped_bytes", bytes}, {"why", why}});
}

std::string megabytes(uint64_t bytes) {
  if (bytes < (1 << 20)) return fmt::format("{} bytes", bytes);
  return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

void JournalFeed::log(const std::string& stream, journal::Channel channel, std::string_view bytes) {
  if (full_ || low_) return dropped(stream, bytes.size(), std::string(kFull));
  const uint64_t room = quota_ == 0 ? bytes.size() : quota_ - std::min(quota_, kept_bytes_);
  const std::string_view kept = bytes.substr(0, room);
  if (kept.size() < bytes.size()) {
    dropped(stream, bytes.size() - kept.size(),
            fmt::format("the log quota of {} is used up; the job goes on", megabytes(quota_)));
  }
  if (kept.empty()) return;
  kept_bytes_ += kept.size();
  logs_.push_back({.stream = stream, .channel = channel, .bytes = kept});
}

void JournalFeed::record(Kind kind, std::string payload) {
  if (pending_bytes_ + payload.size() > kMaxPendingBytes)
    return dropped(std::string(kOther), payload.size(), std::string(kFull));
  pending_bytes_ += payload.size();
  pending_.push_back({.kind = kind, .time = clock_.now(), .payload = std::move(payload)});
}

void JournalFeed::dropped(const std::string& stream, uint64_t bytes, std::string why) {
  const bool room = gaps_.size() < kMaxGaps;
  Gap& gap = gaps_[{room ? stream : "(others)", std::move(why)}];
  gap.bytes += bytes;
  if (!gap.said) unsaid_ = true;
}

void JournalFeed::flush() {
  const Monotonic now = clock_.monotonic();
  if ((full_ || low_) && now >= retry_at_) {
    full_ = false;
    low_ = space_is_low();
    retry_at_ = now + kRetryEvery;
    if (!low_) say_gaps_again();
  }
  const bool gaps_to_say = unsaid_ && !low_;
  if (!full_ && (!logs_.empty() || !pending_.empty() || gaps_to_say)) {
    // When there is no room for the log bytes there may still be some for the rest.
    if (!write(nullptr) && !pending_.empty()) (void)write(nullptr);
  }
  sync_if_due();
}

Monotonic JournalFeed::next_flush() const {
  return full_ || low_ ? std::min(retry_at_, sync_at_) : sync_at_;
}

// A gap that keeps growing (the quota) is said when it opens and once more, with what came after, at the end.
void JournalFeed::add_marks(Timestamp now, bool all) {
  for (auto& [key, gap] : gaps_) {
    gap.in_batch = all || !gap.said ? gap.bytes : 0;
    if (gap.in_batch > 0) writer_.add(Kind::kMark, now, mark_payload(key.first, gap.bytes, key.second));
  }
}

void JournalFeed::marks_written(size_t count) {
  unsaid_ = false;
  for (auto& [key, gap] : gaps_) {
    // What was dropped since the mark was made is still to be said.
    if (gap.in_batch > 0 && count > 0) {
      gap = {.bytes = gap.bytes - gap.in_batch, .said = true, .in_batch = 0};
      --count;
    }
    gap.in_batch = 0;
    unsaid_ = unsaid_ || (!gap.said && gap.bytes > 0);
  }
}

// Space is back: what was lost meanwhile is known now.
void JournalFeed::say_gaps_again() {
  for (auto& [key, gap] : gaps_)
    if (key.second == kFull) gap.said = false;
  unsaid_ = !gaps_.empty();
}

// One batch: what is kept in memory, the log bytes, the gaps, and the exit record if this is the end.
Status JournalFeed::write(const std::string* exit_payload) {
  const Timestamp now = clock_.now();
  for (const Pending& item : pending_) writer_.add(item.kind, item.time, item.payload);
  for (const Kept& kept : logs_) {
    uint64_t& offset = offsets_[kept.stream];
    writer_.add_log(now,
                    {.name = kept.stream, .channel = kept.channel, .offset = offset, .bytes = kept.bytes});
    offset += kept.bytes.size();
  }
  const bool with_marks = exit_payload != nullptr || !(low_ || full_);
  if (with_marks) add_marks(now, exit_payload != nullptr);
  if (exit_payload != nullptr) writer_.add(Kind::kExit, now, *exit_payload);

  Status status = writer_.flush();
  settle(writer_.flushed_records());
  if (!status) {
    if (!full_) log_warning("supervisor.journal_full", {{"error", status.error()}});
    full_ = true;
    retry_at_ = clock_.monotonic() + kRetryEvery;
  }
  return status;
}

// The first `count` records of the batch are in the journal. Of the others, log bytes become a gap and the
// rest waits for the next batch.
void JournalFeed::settle(size_t count) {
  const auto take = [&](size_t size) {
    const size_t taken = std::min(count, size);
    count -= taken;
    return static_cast<std::ptrdiff_t>(taken);
  };
  pending_.erase(pending_.begin(), pending_.begin() + take(pending_.size()));
  pending_bytes_ = 0;
  for (const Pending& item : pending_) pending_bytes_ += item.payload.size();

  const std::vector<Kept> logs = std::exchange(logs_, {});
  const auto lost = logs.begin() + take(logs.size());
  uint64_t kept = 0;
  for (auto chunk = logs.begin(); chunk != lost; ++chunk) kept += chunk->bytes.size();
  for (auto chunk = lost; chunk != logs.end(); ++chunk) {
    offsets_[chunk->stream] -= chunk->bytes.size();
    kept_bytes_ -= chunk->bytes.size();
    dropped(chunk->stream, chunk->bytes.size(), std::string(kFull));
  }
  marks_written(count);
  if (kept == 0) return;
  unsynced_ += kept;
  sync_at_ = std::min(sync_at_, clock_.monotonic() + kSyncEvery);
  unchecked_bytes_ += kept;
  if (unchecked_bytes_ >= allowance_) low_ = space_is_low();
}

// The last of the space is not for log bytes: metrics, tags and the exit record shall find some.
bool JournalFeed::space_is_low() {
  struct statvfs info{};
  unchecked_bytes_ = 0;
  if (::statvfs(folder_.c_str(), &info) != 0) return false;
  const uint64_t free = info.f_bavail * info.f_frsize;
  const uint64_t reserve = std::min<uint64_t>(kReserve, info.f_blocks * info.f_frsize / 20);
  const bool low = free < reserve;
  allowance_ = low ? 0 : std::max<uint64_t>((free - reserve) / 2, 1 << 18);
  if (low && !low_) {
    log_warning("supervisor.space_low", {{"free_bytes", free}});
    retry_at_ = clock_.monotonic() + kRetryEvery;
  }
  return low;
}

// A little is synced for good; much is only sent on its way, since waiting for it would stop the job at its
// pipe.
void JournalFeed::sync_if_due() {
  if (clock_.monotonic() < sync_at_) return;
  sync_at_ = Monotonic::max();
  if (unsynced_ > kMaxSyncedAtOnce) {
    writer_.start_sync();
    sync_at_ = clock_.monotonic() + kSyncEvery;
  } else if (const Status synced = writer_.sync(); !synced) {
    log_warning("supervisor.sync_failed", {{"error", synced.error()}});
  }
  unsynced_ = 0;
}

Status JournalFeed::finish(const std::string& exit_payload) {
  low_ = false;
  SLIPWAY_TRY(write(&exit_payload));
  // A failed sync is not tried again: the kernel has dropped the pages. The agent reads the record all the
  // same.
  if (const Status synced = writer_.sync(); !synced)
    log_error("supervisor.sync_failed", {{"error", synced.error()}});
  return {};
}

}  // namespace slipway::node

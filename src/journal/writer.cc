#include "journal/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/log.h"
#include "journal/segments.h"

namespace slipway::journal {
namespace {

// Where the whole records of a segment end, and what the last of them was.
struct Tail {
  uint64_t size = 0;
  uint64_t sequence = 0;
  bool ended = false;
};

Result<Tail> find_tail(const std::filesystem::path& path, uint64_t file_size) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(errno_error(errno, fmt::format("open {}", path.string())));
  Tail tail;
  std::string buffer;
  size_t window = 1 << 20;
  while (tail.size < file_size) {
    buffer.resize(std::min<uint64_t>(window, file_size - tail.size));
    const ssize_t count = ::pread(fd.get(), buffer.data(), buffer.size(), static_cast<off_t>(tail.size));
    if (count < 0) return fail(errno_error(errno, fmt::format("read {}", path.string())));
    std::string_view rest(buffer.data(), static_cast<size_t>(count));
    bool damaged = false;
    size_t taken = 0;
    while (!rest.empty()) {
      const auto parsed = parse_record(rest);
      damaged = !parsed;
      if (!parsed || !*parsed) break;
      tail.sequence = (*parsed)->record.sequence;
      tail.ended = (*parsed)->record.kind == Kind::kExit;
      taken += (*parsed)->size;
      rest.remove_prefix((*parsed)->size);
    }
    tail.size += taken;
    if (damaged) break;
    if (taken > 0) continue;
    if (window > kHeaderSize + kMaxPayload) break;
    window = kHeaderSize + kMaxPayload + 1;
  }
  return tail;
}

}  // namespace

Result<Writer> Writer::open(const std::filesystem::path& folder, uint64_t segment_bytes) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) SLIPWAY_TRY(make_folders(folder));
  Writer writer(folder, segment_bytes);
  SLIPWAY_TRY(writer.recover());
  return writer;
}

Status Writer::recover() {
  SLIPWAY_ASSIGN(const std::vector<Segment> segments, list_segments(folder_));
  if (segments.empty()) return open_segment(0);
  Tail tail;
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    SLIPWAY_ASSIGN(tail, find_tail(segment_path(folder_, segment->start), segment->size));
    if (segment == segments.rbegin()) {
      SLIPWAY_TRY(open_segment(segment->start));
      segment_size_ = tail.size;
      if (tail.size < segment->size) {
        if (::ftruncate(segment_.get(), static_cast<off_t>(tail.size)) != 0)
          return fail(errno_error(errno, "cut the torn end of a journal"));
        log_warning(
            "journal.tail_cut",
            {{"journal", folder_.string()}, {"position", end()}, {"bytes", segment->size - tail.size}});
      }
    }
    // An empty segment does not know the sequence number; the one before it does.
    if (tail.sequence != 0) break;
  }
  next_sequence_ = tail.sequence + 1;
  ended_ = tail.ended;
  return {};
}

Status Writer::open_segment(uint64_t start) {
  const auto path = segment_path(folder_, start);
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd) return fail(errno_error(errno, fmt::format("open {}", path.string())));
  segment_ = std::move(fd);
  segment_start_ = start;
  segment_size_ = 0;
  folder_synced_ = false;
  return {};
}

void Writer::add(Kind kind, Timestamp time, std::string_view payload) {
  if (payload.size() > kMaxPayload) abort_because("a journal record is larger than any can be");
  std::string record = encode_record(kind, next_sequence_ + batch_.size(), time, payload);
  batch_bytes_ += record.size();
  batch_.push_back({.own = std::move(record), .rest = {}});
}

void Writer::add_log(Timestamp time, const LogChunk& chunk) {
  const std::string prefix = encode_log_prefix(chunk);
  if (prefix.size() + chunk.bytes.size() > kMaxPayload)
    abort_because("a journal record is larger than any can be");
  const auto header = encode_header(Kind::kLog, next_sequence_ + batch_.size(), time, prefix, chunk.bytes);
  Piece piece;
  piece.own.reserve(header.size() + prefix.size());
  piece.own.append(header.data(), header.size()).append(prefix);
  piece.rest = chunk.bytes;
  batch_bytes_ += piece.own.size() + piece.rest.size();
  batch_.push_back(std::move(piece));
}

Status Writer::flush() {
  flushed_records_ = 0;
  if (batch_.empty()) return {};
  uint64_t written = 0;
  Status status = write_batch(written);
  take_into_account(written);
  if (!status) torn_ = ::ftruncate(segment_.get(), static_cast<off_t>(segment_size_)) != 0;
  batch_.clear();
  batch_bytes_ = 0;
  return status;
}

// The records of the batch that lie wholly within the first `written` bytes are part of the journal now.
void Writer::take_into_account(uint64_t written) {
  uint64_t whole = 0;
  for (const Piece& piece : batch_) {
    if (whole + piece.size() > written) break;
    whole += piece.size();
    ++flushed_records_;
  }
  segment_size_ += whole;
  unsynced_ += whole;
  next_sequence_ += flushed_records_;
}

Status Writer::write_batch(uint64_t& written) {
  SLIPWAY_FAILPOINT("journal.before_write");
  // Nothing may follow a torn end: the next opening would cut it off with the tear.
  if (torn_ && ::ftruncate(segment_.get(), static_cast<off_t>(segment_size_)) != 0)
    return fail(errno_error(errno, "cut the torn end of a journal"));
  torn_ = false;
  if (segment_size_ > 0 && segment_size_ + batch_bytes_ > segment_bytes_) SLIPWAY_TRY(next_segment());
#ifdef SLIPWAY_WITH_FAILPOINTS
  if (failpoint_hit("journal.full")) return fail(errno_error(ENOSPC, "write to the journal"));
#endif
  std::vector<iovec> parts;
  parts.reserve(batch_.size() * 2);
  for (Piece& piece : batch_) {
    parts.push_back({piece.own.data(), piece.own.size()});
    if (!piece.rest.empty()) parts.push_back({const_cast<char*>(piece.rest.data()), piece.rest.size()});
  }
  size_t first = 0;
  while (first < parts.size()) {
    const auto count = static_cast<int>(std::min<size_t>(parts.size() - first, IOV_MAX));
    const ssize_t taken = ::writev(segment_.get(), &parts[first], count);
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) return fail(errno_error(errno, "write to the journal"));
    written += static_cast<uint64_t>(taken);
    for (auto left = static_cast<size_t>(taken); left > 0;) {
      iovec& part = parts[first];
      const size_t step = std::min(left, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + step;
      part.iov_len -= step;
      left -= step;
      if (part.iov_len == 0) ++first;
    }
  }
  return {};
}

// The full segment is not waited for here: its bytes start on their way to the disk, and the next sync meets
// them there. Only a writer that is far ahead of its disk waits.
Status Writer::next_segment() {
  constexpr size_t kMaxUnsynced = 4;
  if (unsynced_segments_.size() >= kMaxUnsynced) SLIPWAY_TRY(sync());
  start_sync();
  UniqueFd full(std::move(segment_));
  const Status opened = open_segment(end());
  if (!opened) {
    segment_ = std::move(full);
    return opened;
  }
  unsynced_segments_.push_back(std::move(full));
  return {};
}

Status Writer::sync() {
  if (unsynced_ == 0) return {};
  SLIPWAY_FAILPOINT_ERROR("journal.sync");
  for (const UniqueFd& segment : unsynced_segments_)
    if (::fdatasync(segment.get()) != 0) return fail(errno_error(errno, "sync the journal"));
  unsynced_segments_.clear();
  if (::fdatasync(segment_.get()) != 0) return fail(errno_error(errno, "sync the journal"));
  unsynced_ = 0;
  if (!folder_synced_) SLIPWAY_TRY(sync_folder(folder_));
  folder_synced_ = true;
  return {};
}

void Writer::start_sync() {
  ::sync_file_range(segment_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
}

}  // namespace slipway::journal

#include "journal/reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "journal/record.h"
#include "journal/segments.h"

namespace slipway::journal {
namespace {

struct Whole {
  size_t size = 0;
  bool has_exit = false;
  std::optional<Error> damage;  // of the record after those
};

Whole whole_records(std::string_view bytes) {
  Whole whole;
  while (whole.size < bytes.size()) {
    const auto parsed = parse_record(bytes.substr(whole.size));
    if (!parsed) whole.damage = parsed.error();
    if (!parsed || !*parsed) break;
    whole.size += (*parsed)->size;
    whole.has_exit = (*parsed)->record.kind == Kind::kExit;
  }
  return whole;
}

}  // namespace

void Reader::seek(uint64_t position) {
  position_ = position;
  segment_.reset();
}

// The segment that holds position_, or none yet.
Status Reader::open_segment() {
  SLIPWAY_ASSIGN(const std::vector<Segment> segments, list_segments(folder_));
  if (segments.empty()) return {};
  const auto after = std::ranges::upper_bound(segments, position_, {}, &Segment::start);
  if (after == segments.begin())
    return fail(ErrorCode::kNotFound,
                fmt::format("the journal {} no longer holds position {}", folder_.string(), position_));
  segment_start_ = std::prev(after)->start;
  const auto path = segment_path(folder_, segment_start_);
  segment_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!segment_) return fail(errno_error(errno, fmt::format("open {}", path.string())));
  return {};
}

// Bytes of the segment from position_ on, as far as they are there.
Result<std::string_view> Reader::fill(size_t max_bytes) {
  if (buffer_.size() < max_bytes) buffer_.resize(max_bytes);
  size_t filled = 0;
  while (filled < max_bytes) {
    const ssize_t count = ::pread(segment_.get(), buffer_.data() + filled, max_bytes - filled,
                                  static_cast<off_t>(position_ - segment_start_ + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno_error(errno, fmt::format("read the journal {}", folder_.string())));
    if (count == 0) break;
    filled += static_cast<size_t>(count);
  }
  return std::string_view(buffer_).substr(0, filled);
}

Result<Reader::Chunk> Reader::read(size_t max_bytes) {
  Chunk chunk{.position = position_, .bytes = {}, .has_exit = false};
  for (int round = 0; round < 4; ++round) {
    if (!segment_) SLIPWAY_TRY(open_segment());
    if (!segment_) return chunk;
    SLIPWAY_ASSIGN(std::string_view bytes, fill(std::max(max_bytes, kHeaderSize)));
    Whole whole = whole_records(bytes);
    if (whole.size == 0 && !whole.damage && bytes.size() == std::max(max_bytes, kHeaderSize)) {
      SLIPWAY_ASSIGN(bytes, fill(kHeaderSize + kMaxPayload));
      // One record alone: the caller asked for less.
      const auto first = parse_record(bytes);
      whole = first && *first ? whole_records(bytes.substr(0, (*first)->size)) : whole_records(bytes);
    }
    if (whole.size > 0) {
      chunk.bytes = bytes.substr(0, whole.size);
      chunk.has_exit = whole.has_exit;
      position_ += whole.size;
      return chunk;
    }
    // The end of this segment, unless another begins exactly here.
    if (position_ == segment_start_ || ::access(segment_path(folder_, position_).c_str(), F_OK) != 0) {
      // Seen while the writer cut a torn end and wrote anew, a record may look damaged once; not twice.
      if (whole.damage && damaged_at_ != position_) {
        damaged_at_ = position_;
        continue;
      }
      if (whole.damage)
        return fail(
            Error{whole.damage->code,
                  fmt::format("{} (position {} of {})", whole.damage->message, position_, folder_.string()),
                  "", ""});
      return chunk;
    }
    segment_.reset();
  }
  return chunk;
}

}  // namespace slipway::journal

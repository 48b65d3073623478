// The files of a journal: one folder of segments, each named by the position of its first byte in 20 digits,
// so that their order is that of their names and a position is found without an index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.h"

namespace slipway::journal {

struct Segment {
  uint64_t start = 0;
  uint64_t size = 0;
  uint64_t end() const { return start + size; }
};

std::filesystem::path segment_path(const std::filesystem::path& folder, uint64_t start);

// By position; files of other names are passed over. No folder: no segments.
Result<std::vector<Segment>> list_segments(const std::filesystem::path& folder);

// Removes segments that lie wholly before `position`; safe while a writer appends. The last segment that
// holds anything always stays: it knows the sequence number.
Status remove_segments_before(const std::filesystem::path& folder, uint64_t position);

// Bytes on disk from `position` on: what has not been shipped yet.
Result<uint64_t> backlog(const std::filesystem::path& folder, uint64_t position);

}  // namespace slipway::journal

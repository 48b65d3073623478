// Numbers, times and names as people read and write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace slipway::cli {

// "812 B", "1.2 MiB"
std::string bytes_text(uint64_t bytes);
// Reads "512MiB", "4G", "1.5 GiB" or plain bytes; every prefix is a power of 1024.
Result<uint64_t> parse_bytes(std::string_view text);
// The same for memory, where a bare number counts GiB.
Result<uint64_t> parse_memory(std::string_view text);

// "just now", "3 min ago", "2 h ago", "5 d ago"; beyond thirty days the date. A time to come: "in 5 min".
std::string relative_time(Timestamp time, Timestamp now);
// Reads what to_iso8601 writes (any number of decimals, Z or +00:00).
std::optional<Timestamp> parse_iso8601(std::string_view text);
// "09:30:05" in the local time zone, with the date before it when that is not today's.
std::string clock_time(Timestamp time, Timestamp now);

// Text from elsewhere made safe for a terminal and for one line: control characters and broken UTF-8 become
// '?', and what passes `max` display columns is cut with "…". 0: no limit.
std::string printable(std::string_view text, size_t max = 0);
// Display columns of valid or broken UTF-8: wide characters count 2, combining marks 0.
size_t display_width(std::string_view text);

// "1 run", "3 runs"
std::string count_of(int64_t count, std::string_view singular);

}  // namespace slipway::cli

// The journal of one attempt: everything its supervisor saw, in order, on the node's own disk.
//
// Layout of a record, little-endian:
//   u32 size of the payload | u8 kind | u8[3] zero | u64 sequence, from 1 | i64 wall time in microseconds |
//   u32 CRC-32C over the 24 bytes before it and the payload | payload
// A position is a byte offset from the journal's very beginning, across its segment files. Records never
// straddle segments. A torn tail is cut at the last whole record when the journal is opened.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

namespace slipway::journal {

enum class Kind : uint8_t {
  kPhase = 1,    // JSON {"phase": "preparing" | "starting" | "running", "kind", "detail"}; the latter two of
                 // "preparing" are a note for the time line
  kLog = 2,      // bytes of a log stream (LogChunk)
  kMetrics = 3,  // points (MetricPoint list)
  kSample = 4,   // JSON: resource use {"cpu_percent", "memory_bytes", "gpus": [...]}
  kTags = 5,     // JSON object of strings
  kFile = 6,     // JSON {"path"}: a file the job asked to keep at once, below its working folder
  kMark = 7,     // JSON {"stream", "dropped_bytes", "why"}: an explicit gap
  kExit = 8,     // JSON ExitStatus; always the last record
  kValues = 9,   // JSON array of values other than numbers (value.h)
  kProperties = 10,  // JSON object of strings, each set once
};

constexpr size_t kHeaderSize = 28;
constexpr size_t kMaxPayload = 4 << 20;
constexpr size_t kMaxLogName = 4096;
constexpr size_t kMaxMetricName = 1024;

struct Record {
  Kind kind = Kind::kPhase;
  uint64_t sequence = 0;
  Timestamp time;
  std::string_view payload;  // into the buffer it was parsed from
};

enum class Channel : uint8_t { kNone = 0, kStdout = 1, kStderr = 2 };

struct LogChunk {
  std::string
      name;  // "std_log.txt" for stdout and stderr, else the path below the working folder: "logs/events.log"
  Channel channel = Channel::kNone;
  uint64_t offset = 0;  // in that log, before this chunk
  std::string_view bytes;
};

struct MetricPoint {
  std::string name;
  int64_t step = 0;
  Timestamp time;
  double value = 0;  // NaN and the infinities are kept
};

std::string encode_record(Kind kind, uint64_t sequence, Timestamp time, std::string_view payload);
// The 28 bytes before a payload that lies in two pieces, for writers that gather them without copying.
std::array<char, kHeaderSize> encode_header(Kind kind, uint64_t sequence, Timestamp time,
                                            std::string_view first, std::string_view second);

// A kind this program does not know is not an error: a newer supervisor may have written it; skip it.
// The record at the beginning of `bytes`. nullopt: more bytes are needed. An error: this is no record.
struct Parsed {
  Record record;
  size_t size = 0;  // bytes taken
};
Result<std::optional<Parsed>> parse_record(std::string_view bytes);

// A log payload: u8 channel | u64 offset | u16 size of the name | name | the bytes.
std::string encode_log(const LogChunk& chunk);
// All of that but the bytes.
std::string encode_log_prefix(const LogChunk& chunk);
Result<LogChunk> parse_log(std::string_view payload);
// A metrics payload, point after point: u16 size of the name | name | i64 step | i64 time | f64 value. A name
// has at most kMaxMetricName bytes.
std::string encode_metrics(const std::vector<MetricPoint>& points);
Result<std::vector<MetricPoint>> parse_metrics(std::string_view payload);

}  // namespace slipway::journal

// What a job says through its socket: one datagram, one JSON object (docs/in-job.md).
//
//   {"metrics": {"loss": 0.12, "best": "NaN"}, "step": 7, "time": 1763199000000000}
//   {"tags": {"optimizer": "adam"}}
//   {"file": "outputs/plot.png"}
//   {"image": {"name": "samples", "path": "outputs/samples.png", "step": 7}}
//   {"properties": {"data": "mnist:2"}}
//   {"values": [{"name": "note", "kind": "string", "value": "warm"}, ...]}, entries as in journal/value.h
//   {"values_file": "values.json"}: a file of the working folder with such a list, for what is larger
//
// The sender is the user's program: nothing in it is trusted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "journal/record.h"
#include "journal/value.h"

namespace slipway::injob {

constexpr size_t kMaxMessage = 64 << 10;

// A file below the working folder that is to be kept at once.
struct KeptFile {
  std::string path;
  std::string image;  // the name it is shown under; empty: a plain file
  int64_t step = 0;
  Timestamp time;
};

struct Message {
  std::vector<journal::MetricPoint> points;
  std::vector<journal::Entry> entries;  // numbers and other values, in their order
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> properties;
  std::optional<KeptFile> file;
  std::optional<std::string> values_file;
};

// `now` is the time of points that bring none. Adds to `message`, so that one may gather many datagrams; on
// an error nothing was added.
Status parse_message(std::string_view text, Timestamp now, Message& message);

// The content of a values file: a JSON array of entries.
constexpr size_t kMaxValuesFile = 16 << 20;
Result<std::vector<journal::Entry>> parse_values_file(std::string_view text, Timestamp now);

}  // namespace slipway::injob

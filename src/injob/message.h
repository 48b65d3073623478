// What a job says through its socket: one datagram, one JSON object (docs/in-job.md).
//
//   {"metrics": {"loss": 0.12, "best": "NaN"}, "step": 7, "time": 1763199000000000}
//   {"tags": {"optimizer": "adam"}}
//   {"file": "outputs/plot.png"}
//   {"image": {"name": "samples", "path": "outputs/samples.png", "step": 7}}
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

namespace slipway::injob {

constexpr size_t kMaxMessage = 64 << 10;

// A file below the working folder that is to be kept at once.
struct KeptFile {
  std::string path;
  std::string image;  // the name it is shown under; empty: a plain file
  int64_t step = 0;
};

struct Message {
  std::vector<journal::MetricPoint> points;
  std::map<std::string, std::string> tags;
  std::optional<KeptFile> file;
};

// `now` is the time of points that bring none. Adds to `message`, so that one may gather many datagrams; on
// an error nothing was added.
Status parse_message(std::string_view text, Timestamp now, Message& message);

}  // namespace slipway::injob

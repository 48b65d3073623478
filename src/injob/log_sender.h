// What `slipway log` does: says something to the run it is called in, through SLIPWAY_SOCKET.
//
// All return kUnavailable outside a run, kInvalidArgument for what the run would refuse, and kTimeout when
// its supervisor does not take the message in time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace slipway::injob {

// All at the same step. Values may be NaN or infinite.
Status send_metrics(const std::vector<std::pair<std::string, double>>& metrics, int64_t step);
Status send_tag(std::string_view name, std::string_view value);
// `path` is below the run's working folder.
Status send_file(std::string_view path);
Status send_image(std::string_view name, std::string_view path, int64_t step);

Status send_property(std::string_view name, std::string_view value);
Status send_string(std::string_view name, std::string_view text, int64_t step);
// Cells in their order; one that reads as a number is one.
Status send_row(std::string_view name, const std::vector<std::pair<std::string, std::string>>& cells,
                int64_t step);

// "epoch=loss:0.1,phase:train" -> {"epoch", {{"loss", "0.1"}, {"phase", "train"}}}
struct RowArgument {
  std::string name;
  std::vector<std::pair<std::string, std::string>> cells;
};
Result<RowArgument> parse_row_argument(std::string_view text);

// "loss=0.12" -> {"loss", 0.12}; takes nan, inf and -inf in any case.
Result<std::pair<std::string, double>> parse_metric_argument(std::string_view text);

}  // namespace slipway::injob

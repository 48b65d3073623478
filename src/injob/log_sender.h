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

// "loss=0.12" -> {"loss", 0.12}; takes nan, inf and -inf in any case.
Result<std::pair<std::string, double>> parse_metric_argument(std::string_view text);

}  // namespace slipway::injob

// How logged values look to a person: numbers, texts, rows, tables, images and documents.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace slipway::cli {

// One item of /metrics/points or /metrics/values: "0.125", "loss=0.1 phase=train", "2 columns: x (100), y
// (100)".
std::string logged_value_text(const json::object& item);

// Both lists of one metric in the order of logging.
std::vector<json::object> in_order_of_logging(const json::array& points, const json::array& values);

}  // namespace slipway::cli

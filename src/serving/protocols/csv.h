// Tables as text (RFC 4180), which MLflow's server takes beside JSON.
#pragma once

#include <string>
#include <string_view>

#include "serving/tensor.h"

namespace slipway::serving {

// The table as MLflow's "dataframe_split": {"columns": [...], "data": [[...], ...]}. Its first line names the
// columns. Cells of inputs that are numbers must be numbers; an empty one and "nan" are null. With one input
// all columns are its row. kInvalidArgument says which cell of which line does not fit.
Result<std::string> csv_to_split(std::string_view text, const Signature& signature);

}  // namespace slipway::serving

// What an ONNX model may read beside itself. Its tensors may lie in other files, which it names: a hostile
// one names files that are none of its business, so the names are looked at before ONNX Runtime is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace slipway::serving {

// The files that a serialised ModelProto names; kInvalidArgument where it is none.
Result<std::vector<std::string>> external_files(std::string_view model);

// Whether the model at `path` is one, and each file it names lies beside or below it, without links.
Status check_onnx_files(const std::string& path);

}  // namespace slipway::serving

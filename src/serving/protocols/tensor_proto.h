// TensorFlow's TensorProto and TensorInfo.
#pragma once

#include <string>
#include <string_view>

#include "serving/tensor.h"

namespace slipway::serving {

// The tensor for this input; kInvalidArgument when it does not fit it, before anything is allocated for it.
Result<Tensor> read_tensor_proto(std::string_view message, const TensorSpec& spec);
std::string to_tensor_proto(const TensorView& tensor);
std::string to_tensor_info(const TensorSpec& spec);

}  // namespace slipway::serving

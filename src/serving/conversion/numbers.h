// Numbers of tensors in other types than they have.
#pragma once

#include <vector>

#include "serving/tensor.h"

namespace slipway::serving {

// One element of a tensor that holds numbers; of text it is 0.
double number_at(const TensorView& tensor, size_t index);

// The same numbers in another type. kUnsupported where either is text.
Result<Tensor> cast(const TensorView& tensor, DataType type);

// An input as others see outputs.
TensorView view_of(const SlipwayTensor& tensor);

}  // namespace slipway::serving

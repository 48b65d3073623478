// Tensors as raw bytes: little-endian, row-major; of BYTES each element behind its length in four bytes.
#pragma once

#include <string>
#include <string_view>

#include "serving/tensor.h"

namespace slipway::serving {

// `bytes` is exactly the tensor. The shape's product is checked before anything is allocated.
Result<Tensor> read_binary(std::string_view bytes, DataType type, Shape shape);

void append_binary(std::string& out, const TensorView& tensor);
size_t binary_size(const TensorView& tensor);

}  // namespace slipway::serving

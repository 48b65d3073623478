// TensorFlow's names and numbers for the types of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "serving/tensor.h"

namespace slipway::serving {

std::string_view tf_name(DataType type);                  // "DT_FLOAT"
uint32_t tf_number(DataType type);                        // 1
std::optional<DataType> from_tf_number(uint64_t number);  // nullopt for one that is not served

}  // namespace slipway::serving

#include "serving/tf_types.h"

#include <algorithm>
#include <array>

namespace slipway::serving {
namespace {

struct Row {
  DataType type;
  std::string_view name;
  uint32_t number;
};

constexpr std::array kRows{
    Row{DataType::kFp32, "DT_FLOAT", 1},     Row{DataType::kFp64, "DT_DOUBLE", 2},
    Row{DataType::kInt32, "DT_INT32", 3},    Row{DataType::kUint8, "DT_UINT8", 4},
    Row{DataType::kInt16, "DT_INT16", 5},    Row{DataType::kInt8, "DT_INT8", 6},
    Row{DataType::kBytes, "DT_STRING", 7},   Row{DataType::kInt64, "DT_INT64", 9},
    Row{DataType::kBool, "DT_BOOL", 10},     Row{DataType::kUint16, "DT_UINT16", 17},
    Row{DataType::kFp16, "DT_HALF", 19},     Row{DataType::kUint32, "DT_UINT32", 22},
    Row{DataType::kUint64, "DT_UINT64", 23},
};

const Row& row_of(DataType type) {
  return *std::ranges::find(kRows, type, &Row::type);
}

}  // namespace

std::string_view tf_name(DataType type) {
  return row_of(type).name;
}

uint32_t tf_number(DataType type) {
  return row_of(type).number;
}

std::optional<DataType> from_tf_number(uint64_t number) {
  const auto* const found = std::ranges::find(kRows, number, &Row::number);
  return found == kRows.end() ? std::nullopt : std::optional(found->type);
}

}  // namespace slipway::serving

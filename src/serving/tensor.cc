#include "serving/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <cmath>

namespace slipway::serving {
namespace {

struct TypeRow {
  DataType type;
  std::string_view name;
  size_t size;
};

constexpr std::array kTypes{
    TypeRow{DataType::kBool, "BOOL", 1},
    TypeRow{DataType::kUint8, "UINT8", 1},
    TypeRow{DataType::kUint16, "UINT16", 2},
    TypeRow{DataType::kUint32, "UINT32", 4},
    TypeRow{DataType::kUint64, "UINT64", 8},
    TypeRow{DataType::kInt8, "INT8", 1},
    TypeRow{DataType::kInt16, "INT16", 2},
    TypeRow{DataType::kInt32, "INT32", 4},
    TypeRow{DataType::kInt64, "INT64", 8},
    TypeRow{DataType::kFp16, "FP16", 2},
    TypeRow{DataType::kFp32, "FP32", 4},
    TypeRow{DataType::kFp64, "FP64", 8},
    TypeRow{DataType::kBytes, "BYTES", sizeof(SlipwayBytes)},
};

const TypeRow& row_of(DataType type) {
  return kTypes[static_cast<size_t>(type) - 1];
}

}  // namespace

std::string_view to_text(DataType type) {
  return row_of(type).name;
}

std::optional<DataType> data_type_from_text(std::string_view text) {
  for (const TypeRow& row : kTypes)
    if (row.name == text) return row.type;
  return std::nullopt;
}

size_t size_of(DataType type) {
  return row_of(type).size;
}

bool is_floating(DataType type) {
  return type == DataType::kFp16 || type == DataType::kFp32 || type == DataType::kFp64;
}

std::string to_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::optional<size_t> element_count(std::span<const int64_t> shape, size_t limit) {
  size_t count = 1;
  bool empty = false;
  for (const int64_t dimension : shape) {
    if (dimension < 0) return std::nullopt;
    if (dimension == 0) {
      empty = true;
      continue;
    }
    if (static_cast<uint64_t>(dimension) > limit / count) return std::nullopt;
    count *= static_cast<size_t>(dimension);
  }
  return empty ? 0 : count;
}

SlipwayTensor Tensor::view(const std::string& name) const {
  return {.name = name.c_str(),
          .type = static_cast<int32_t>(type),
          .rank = static_cast<int32_t>(shape.size()),
          .shape = shape.data(),
          .data = elements.data(),
          .bytes = elements.size()};
}

TensorView TensorView::rows(int64_t first, int64_t count, Shape& shape_of_rows) const {
  const size_t row_bytes = shape[0] == 0 ? 0 : bytes / static_cast<size_t>(shape[0]);
  shape_of_rows.assign(shape.begin(), shape.end());
  shape_of_rows[0] = count;
  return {.name = name,
          .type = type,
          .shape = shape_of_rows,
          .data = data + row_bytes * static_cast<size_t>(first),
          .bytes = row_bytes * static_cast<size_t>(count)};
}

Status check_fits(const TensorSpec& spec, DataType type, std::span<const int64_t> shape) {
  if (type != spec.type)
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("input '{}' is {} and the model takes {}", spec.name, to_text(type), to_text(spec.type)),
        "send that type");
  if (!spec.shape) return {};
  bool fits = spec.shape->size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = (*spec.shape)[i] < 0 || (*spec.shape)[i] == shape[i];
  if (fits) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("input '{}' has the shape {} and the model takes {}", spec.name, to_text(shape),
                          to_text(*spec.shape)),
              "send that shape; -1 stands for any number");
}

float half_to_float(uint16_t half) {
  const int exponent = (half >> 10) & 0x1f;
  const int fraction = half & 0x3ff;
  const float sign = (half & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1f) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction | 0x400), exponent - 25);
}

uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  // Beyond the largest half, rounded: infinity.
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {  // subnormal: in units of 2^-24, rounded to the nearest even
    const float units = std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), 24));
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(units));
  }
  const uint32_t odd = (magnitude >> 13) & 1;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
}

}  // namespace slipway::serving

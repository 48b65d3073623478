#include "serving/conversion/numbers.h"

#include <fmt/format.h>

namespace slipway::serving {
namespace {

// Calls `with` with a pointer of the tensor's own type; half precision is the caller's.
template <class With>
auto visit_type(DataType type, With with) {
  switch (type) {
    // NOLINTNEXTLINE(bugprone-branch-clone): each branch calls it with another type.
    case DataType::kBool:
    case DataType::kUint8: return with(uint8_t());
    case DataType::kUint16: return with(uint16_t());
    case DataType::kUint32: return with(uint32_t());
    case DataType::kUint64: return with(uint64_t());
    case DataType::kInt8: return with(int8_t());
    case DataType::kInt16: return with(int16_t());
    case DataType::kInt32: return with(int32_t());
    case DataType::kInt64: return with(int64_t());
    case DataType::kFp32: return with(float());
    default: return with(double());
  }
}

}  // namespace

double number_at(const TensorView& tensor, size_t index) {
  if (tensor.type == DataType::kBytes) return 0;
  if (tensor.type == DataType::kFp16) return static_cast<double>(half_to_float(tensor.as<uint16_t>()[index]));
  return visit_type(tensor.type, [&]<class T>(T) { return static_cast<double>(tensor.as<T>()[index]); });
}

Result<Tensor> cast(const TensorView& tensor, DataType type) {
  if (tensor.type == DataType::kBytes || type == DataType::kBytes)
    return fail(ErrorCode::kUnsupported, fmt::format("'{}' is text in one of the models only", tensor.name));
  Tensor made{.type = type,
              .shape = Shape(tensor.shape.begin(), tensor.shape.end()),
              .elements = Elements(tensor.count() * size_of(type)),
              .text = nullptr};
  for (size_t i = 0; i < tensor.count(); ++i) {
    const double value = number_at(tensor, i);
    if (type == DataType::kFp16)
      made.elements.as<uint16_t>()[i] = float_to_half(static_cast<float>(value));
    else
      visit_type(type, [&]<class T>(T) { made.elements.as<T>()[i] = static_cast<T>(value); });
  }
  return made;
}

TensorView view_of(const SlipwayTensor& tensor) {
  return {.name = tensor.name,
          .type = static_cast<DataType>(tensor.type),
          .shape = {tensor.shape, static_cast<size_t>(tensor.rank)},
          .data = static_cast<const char*>(tensor.data),
          .bytes = tensor.bytes};
}

}  // namespace slipway::serving

#include "serving/protocols/tensor_proto.h"

#include <fmt/format.h>

#include "serving/protocols/binary_tensor.h"
#include "serving/protocols/grpc_call.h"
#include "serving/protocols/wire_tensor.h"
#include "serving/tf_types.h"
#include "serving/wire.h"

namespace slipway::serving {
namespace {

constexpr uint32_t kType = 1;
constexpr uint32_t kShape = 2;
constexpr uint32_t kContent = 4;  // all elements, raw
constexpr uint32_t kTexts = 8;
constexpr size_t kMaxRank = 254;  // TensorFlow's own

// The field with the elements of a type one by one.
uint32_t values_field(DataType type) {
  switch (type) {
    case DataType::kFp32: return 5;
    case DataType::kFp64: return 6;
    case DataType::kInt32:
    case DataType::kInt16:
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kUint16: return 7;
    case DataType::kBytes: return kTexts;
    case DataType::kInt64: return 10;
    case DataType::kBool: return 11;
    case DataType::kFp16: return 13;
    case DataType::kUint32: return 16;
    case DataType::kUint64: return 17;
  }
  return 0;
}

// A TensorShapeProto: dimensions in field 2, the size of each in field 1; field 3 says that the rank is
// unknown.
Result<Shape> read_shape(std::string_view message) {
  Shape shape;
  WireReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 3 && field->value != 0) return no_message("a tensor without a shape");
    if (field->number != 2) continue;
    int64_t size = 0;
    WireReader dimension(field->bytes);
    while (const auto inner = dimension.next())
      if (inner->number == 1) size = static_cast<int64_t>(inner->value);
    if (dimension.broken() || shape.size() == kMaxRank) return no_message("the shape of a tensor");
    shape.push_back(size);
  }
  if (reader.broken()) return no_message("the shape of a tensor");
  return shape;
}

std::string to_shape_proto(std::span<const int64_t> shape) {
  std::string message;
  for (const int64_t size : shape) {
    std::string dimension;
    append_whole(dimension, 1, static_cast<uint64_t>(size));
    append_field(message, 2, dimension);
  }
  return message;
}

}  // namespace

Result<Tensor> read_tensor_proto(std::string_view message, const TensorSpec& spec) {
  uint64_t number = 0;
  Shape shape;
  std::string_view content;
  WireReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == kType) number = field->value;
    if (field->number == kContent) content = field->bytes;
    if (field->number == kShape) {
      SLIPWAY_ASSIGN(shape, read_shape(field->bytes));
    }
  }
  if (reader.broken()) return no_message(fmt::format("the tensor of input '{}'", spec.name));
  const auto type = from_tf_number(number);
  if (!type)
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("the tensor of input '{}' has the type {}, which is not served", spec.name, number));
  SLIPWAY_TRY(check_fits(spec, *type, shape));
  if (!content.empty() && *type != DataType::kBytes) return read_binary(content, *type, std::move(shape));
  return read_values(message, {.number = values_field(*type), .kind = wire_kind(*type)}, *type,
                     std::move(shape), Missing::kRepeatLast);
}

std::string to_tensor_proto(const TensorView& tensor) {
  std::string message;
  append_whole(message, kType, tf_number(tensor.type));
  append_field(message, kShape, to_shape_proto(tensor.shape));
  if (tensor.type == DataType::kBytes) {
    append_values(message, {.number = kTexts, .kind = WireKind::kBytes}, tensor);
  } else if (tensor.bytes > 0) {
    append_field(message, kContent, {tensor.data, tensor.bytes});
  }
  return message;
}

std::string to_tensor_info(const TensorSpec& spec) {
  std::string message;
  append_field(message, 1, spec.name);
  append_whole(message, 2, tf_number(spec.type));
  std::string shape;
  if (spec.shape) {
    shape = to_shape_proto(*spec.shape);
  } else {
    append_whole(shape, 3, 1);
  }
  append_field(message, 3, shape);
  return message;
}

}  // namespace slipway::serving

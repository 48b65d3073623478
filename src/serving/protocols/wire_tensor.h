// Tensors inside protocol buffer messages, whose elements stand in a repeated field of their kind.
#pragma once

#include <string>
#include <string_view>

#include "serving/tensor.h"

namespace slipway::serving {

// How the elements of a repeated field are written.
enum class WireKind { kVarint, kFixed32, kFixed64, kBytes };

struct ValuesField {
  uint32_t number = 0;
  WireKind kind = WireKind::kVarint;
};

// How a field that carries `type` is written where its elements are numbers of the language: whole ones as
// varints.
WireKind wire_kind(DataType type);

enum class Missing {
  kRefused,
  kRepeatLast,  // as TensorFlow has it: the last value stands for all that are not there
};

// The tensor of this shape whose elements are in that field of `message`. kInvalidArgument when their number
// does not fit the shape, or one does not fit the type. No more is allocated than was sent, but for
// kRepeatLast, where it is bounded.
Result<Tensor> read_values(std::string_view message, ValuesField field, DataType type, Shape shape,
                           Missing missing = Missing::kRefused);

// The field with all elements, packed where they are numbers. Nothing for a tensor without elements.
void append_values(std::string& out, ValuesField field, const TensorView& tensor);

// A repeated field of whole numbers: `field` is one of its occurrences, packed or not. False where it is
// broken.
struct WireField;
bool read_wholes(const WireField& field, Shape& into, size_t limit);
void append_wholes(std::string& out, uint32_t number, std::span<const int64_t> values);

}  // namespace slipway::serving

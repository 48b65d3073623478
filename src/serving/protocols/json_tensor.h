// Tensors from JSON and back: nested lists of numbers, of true and false, of text or {"b64": "..."}.
#pragma once

#include <string>

#include "serving/protocols/json_reader.h"
#include "serving/tensor.h"

namespace slipway::serving {

// More elements than any body within the limit can hold; shapes that claim more are refused.
constexpr size_t kMaxElements = 128U << 20;

enum class Nulls { kRefused, kNan };

// Reads nested lists, or a single value (rank 0), whose shape it finds: lists of unequal length are an error
// that says where. Numbers must fit `type`: whole ones for whole types.
Result<Tensor> read_tensor(JsonReader& reader, DataType type, Nulls nulls = Nulls::kRefused);
// The same for a tensor whose shape is known: the data may be nested or flat, and its count must be right.
Result<Tensor> read_tensor(JsonReader& reader, DataType type, Shape shape);

// A list with one element for each of the shape's first dimension, and so on; or flat.
enum class Nesting { kNested, kFlat };
enum class BytesAs { kText, kBase64 };  // {"b64": "..."}
// Bytes that are not UTF-8 are written as base64 either way.
void append_tensor(std::string& out, const TensorView& tensor, Nesting nesting,
                   BytesAs bytes = BytesAs::kText);
// Only the row `row` of it.
void append_row(std::string& out, const TensorView& tensor, int64_t row, BytesAs bytes = BytesAs::kText);

void append_json_text(std::string& out, std::string_view text);  // with its quotes
void append_number(std::string& out, double value);              // "1.0", "NaN", "-Infinity"
void append_number(std::string& out, float value);

}  // namespace slipway::serving

// Requests that give their inputs row by row, as values or as objects with a member for each input; several
// protocols have them under other names.
#pragma once

#include "serving/protocols/json_tensor.h"
#include "serving/served_model.h"

namespace slipway::serving {

// Reads the list at the reader: of plain values for a model with one input, else of objects.
Status read_rows(JsonReader& reader, const Signature& signature, InputSlots& inputs,
                 Nulls nulls = Nulls::kRefused);
// Reads the value at the reader: a tensor for a model with one input, or an object with one for each.
Status read_columns(JsonReader& reader, const Signature& signature, InputSlots& inputs);

// {"predictions": [...]}: a value a row with one output, else an object a row. An error response of the
// protocol where an output has not one row for each of the inputs'.
void append_predictions(std::string& out, std::span<const TensorView> outputs);
// Bare with one output, else an object.
void append_columns(std::string& out, std::span<const TensorView> outputs);
// Whether each output has the same number of rows.
bool have_rows(std::span<const TensorView> outputs);

}  // namespace slipway::serving

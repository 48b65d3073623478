#include "serving/protocols/row_form.h"

#include <algorithm>

namespace slipway::serving {
namespace {

// TensorFlow Serving: text is base64 where the tensor's name says so.
BytesAs bytes_as(const TensorView& output) {
  return output.name.ends_with("_bytes") ? BytesAs::kBase64 : BytesAs::kText;
}

// Whether what stands at the reader is {"b64": ...}, which is a value and not an object of inputs.
bool at_base64(JsonReader& reader) {
  const char* const here = reader.position();
  const bool is = reader.take('{') && reader.take_word("\"b64\"");
  reader.rewind(here);
  return is;
}

Status read_named_rows(JsonReader& reader, const Signature& signature, InputSlots& inputs, Nulls nulls) {
  std::vector<std::vector<Tensor>> rows(signature.inputs.size());
  size_t count = 0;
  SLIPWAY_TRY(reader.array([&]() -> Status {
    ++count;
    SLIPWAY_TRY(reader.object([&](const std::string& name) -> Status {
      SLIPWAY_ASSIGN(const size_t index, inputs.find(name));
      SLIPWAY_ASSIGN(Tensor value, read_tensor(reader, signature.inputs[index].type, nulls));
      rows[index].push_back(std::move(value));
      return {};
    }));
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[i].size() != count)
        return fail(
            ErrorCode::kInvalidArgument,
            fmt::format("row {} does not give the input '{}' once", count - 1, signature.inputs[i].name),
            "give each input in each row");
    return {};
  }));
  for (size_t i = 0; i < rows.size(); ++i) {
    SLIPWAY_ASSIGN(Tensor whole, stack(std::move(rows[i]), signature.inputs[i].name));
    SLIPWAY_TRY(inputs.put(i, std::move(whole)));
  }
  return {};
}

}  // namespace

Status read_rows(JsonReader& reader, const Signature& signature, InputSlots& inputs, Nulls nulls) {
  const char* const start = reader.position();
  if (!reader.take('[')) return reader.wrong("a list of rows");
  if (reader.peek() == ']')
    return fail(ErrorCode::kInvalidArgument, "the list of rows is empty", "send at least one row");
  const bool named = reader.peek() == '{' && (signature.inputs.size() != 1 || !at_base64(reader));
  reader.rewind(start);
  if (named) return read_named_rows(reader, signature, inputs, nulls);
  if (signature.inputs.size() != 1)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the model has {} inputs and the rows are plain values", signature.inputs.size()),
                "send each row as an object with a member for each input");
  SLIPWAY_ASSIGN(Tensor tensor, read_tensor(reader, signature.inputs.front().type, nulls));
  return inputs.put(0, std::move(tensor));
}

Status read_columns(JsonReader& reader, const Signature& signature, InputSlots& inputs) {
  if (signature.inputs.size() == 1 && (reader.peek() != '{' || at_base64(reader))) {
    SLIPWAY_ASSIGN(Tensor tensor, read_tensor(reader, signature.inputs.front().type));
    return inputs.put(0, std::move(tensor));
  }
  return reader.object([&](const std::string& name) -> Status {
    SLIPWAY_ASSIGN(const size_t index, inputs.find(name));
    SLIPWAY_ASSIGN(Tensor tensor, read_tensor(reader, signature.inputs[index].type));
    return inputs.put(index, std::move(tensor));
  });
}

bool have_rows(std::span<const TensorView> outputs) {
  return std::ranges::all_of(outputs, [&](const TensorView& output) {
    return !output.shape.empty() && output.shape[0] == outputs[0].shape[0];
  });
}

void append_predictions(std::string& out, std::span<const TensorView> outputs) {
  out += "{\"predictions\":";
  if (outputs.size() == 1) {
    append_tensor(out, outputs[0], Nesting::kNested, bytes_as(outputs[0]));
  } else {
    out += '[';
    const int64_t rows = outputs.empty() ? 0 : outputs[0].shape[0];
    for (int64_t row = 0; row < rows; ++row) {
      out += row > 0 ? ",{" : "{";
      for (const TensorView& output : outputs) {
        if (&output != outputs.data()) out += ',';
        append_json_text(out, output.name);
        out += ':';
        append_row(out, output, row, bytes_as(output));
      }
      out += '}';
    }
    out += ']';
  }
  out += '}';
}

void append_columns(std::string& out, std::span<const TensorView> outputs) {
  if (outputs.size() == 1) return append_tensor(out, outputs[0], Nesting::kNested, bytes_as(outputs[0]));
  out += '{';
  for (const TensorView& output : outputs) {
    if (&output != outputs.data()) out += ',';
    append_json_text(out, output.name);
    out += ':';
    append_tensor(out, output, Nesting::kNested, bytes_as(output));
  }
  out += '}';
}

}  // namespace slipway::serving

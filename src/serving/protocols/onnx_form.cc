#include "serving/protocols/onnx_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/base64.h"
#include "serving/protocols/binary_tensor.h"
#include "serving/protocols/json_tensor.h"

namespace slipway::serving {
namespace {

// TensorProto.DataType of ONNX.
constexpr std::pair<int, DataType> kTypes[] = {
    {1, DataType::kFp32},    {2, DataType::kUint8}, {3, DataType::kInt8},  {4, DataType::kUint16},
    {5, DataType::kInt16},   {6, DataType::kInt32}, {7, DataType::kInt64}, {8, DataType::kBytes},
    {9, DataType::kBool},    {10, DataType::kFp16}, {11, DataType::kFp64}, {12, DataType::kUint32},
    {13, DataType::kUint64},
};

// A whole number, or one in quotes, as protocol buffers write 64-bit numbers in JSON.
Result<int64_t> read_int64(JsonReader& reader) {
  bool negative = false;
  if (reader.peek() != '"') {
    SLIPWAY_ASSIGN(const uint64_t value, reader.whole(negative));
    if (value > INT64_MAX) return reader.wrong("a smaller number");
    return negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
  }
  SLIPWAY_ASSIGN(const std::string text, reader.string());
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return reader.wrong("a whole number in quotes");
  return value;
}

struct Fields {
  Shape shape;
  std::optional<DataType> type;
  std::optional<std::string> raw;
  const char* data = nullptr;  // of floatData and its kin, read once the type is known
  bool quoted = false;         // int64Data may be in quotes
};

Status read_field(JsonReader& reader, Fields& fields, const std::string& key) {
  if (key == "dims")
    return reader.array([&]() -> Status {
      SLIPWAY_ASSIGN(const int64_t size, read_int64(reader));
      if (fields.shape.size() == 32) return reader.wrong("fewer dimensions");
      fields.shape.push_back(size);
      return {};
    });
  if (key == "dataType") {
    SLIPWAY_ASSIGN(const int64_t number, read_int64(reader));
    for (const auto& [onnx, type] : kTypes)
      if (onnx == number) fields.type = type;
    return {};
  }
  if (key == "rawData") {
    SLIPWAY_ASSIGN(const std::string text, reader.string());
    SLIPWAY_ASSIGN(fields.raw, from_base64(text));
    return {};
  }
  if (key.ends_with("Data")) {
    reader.peek();
    fields.data = reader.position();
    fields.quoted = key == "int64Data" || key == "uint64Data";
  }
  return reader.skip();
}

// {"int64Data": ["1", "2"]}
Result<Tensor> read_quoted(JsonReader& reader, const Shape& shape, DataType type) {
  std::string numbers = "[";
  SLIPWAY_TRY(reader.array([&]() -> Status {
    SLIPWAY_ASSIGN(const int64_t value, read_int64(reader));
    numbers += fmt::format("{}{}", numbers.size() > 1 ? "," : "", value);
    return {};
  }));
  numbers += ']';
  JsonReader plain(numbers);
  return read_tensor(plain, type, shape);
}

// stringData is base64 in this form.
Result<Tensor> read_texts(JsonReader& reader, const Shape& shape) {
  std::string plain;
  SLIPWAY_TRY(reader.array([&]() -> Status {
    SLIPWAY_ASSIGN(const std::string encoded, reader.string());
    SLIPWAY_ASSIGN(const std::string text, from_base64(encoded));
    const auto length = static_cast<uint32_t>(text.size());
    plain.append(reinterpret_cast<const char*>(&length), sizeof length);
    plain += text;
    return {};
  }));
  return read_binary(plain, DataType::kBytes, shape);
}

Result<Tensor> read_one(JsonReader& reader, const std::string& name) {
  Fields fields;
  SLIPWAY_TRY(reader.object([&](const std::string& key) { return read_field(reader, fields, key); }));
  if (!fields.type)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the input '{}' has no dataType that is known", name),
                "1 is float, 6 int32, 7 int64, 8 string, 11 double");
  if (fields.raw) return read_binary(*fields.raw, *fields.type, fields.shape);
  if (fields.data == nullptr)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the input '{}' has neither rawData nor floatData", name));
  const char* const behind = reader.position();
  reader.rewind(fields.data);
  auto tensor = *fields.type == DataType::kBytes ? read_texts(reader, fields.shape)
                : fields.quoted                  ? read_quoted(reader, fields.shape, *fields.type)
                                                 : read_tensor(reader, *fields.type, fields.shape);
  reader.rewind(behind);
  return tensor;
}

http::Response respond(const std::vector<std::string>& filter, const JobOutputs& outputs) {
  std::string body = "{\"outputs\":{";
  for (const TensorView& tensor : outputs.tensors) {
    if (!filter.empty() && std::ranges::find(filter, tensor.name) == filter.end()) continue;
    if (!body.ends_with('{')) body += ',';
    append_json_text(body, tensor.name);
    body += ":{\"dims\":[";
    for (const int64_t size : tensor.shape)
      body += fmt::format("{}\"{}\"", body.ends_with('[') ? "" : ",", size);
    const auto* const type =
        std::ranges::find_if(kTypes, [&](const auto& row) { return row.second == tensor.type; });
    body += fmt::format("],\"dataType\":{},", type->first);
    if (tensor.type == DataType::kBytes) {
      body += "\"stringData\":[";
      for (const SlipwayBytes& text : tensor.as<SlipwayBytes>())
        body += fmt::format("{}\"{}\"", body.ends_with('[') ? "" : ",", to_base64({text.data, text.size}));
      body += "]}";
    } else {
      body += fmt::format("\"rawData\":\"{}\"}}", to_base64({tensor.data, tensor.bytes}));
    }
  }
  body += "}}";
  http::Response response;
  response.body = std::move(body);
  return response;
}

}  // namespace

bool is_onnx_form(const std::string& body) {
  JsonReader reader(body);
  bool found = false;
  (void)reader.object([&](const std::string& key) -> Status {
    if (key != "inputs") return reader.skip();
    // Looks at the first member of the first input, no further.
    return reader.object([&](const std::string&) -> Status {
      return reader.object([&](const std::string& field) -> Status {
        found = field == "dims" || field == "dataType" || field.ends_with("Data");
        return reader.wrong("no more");
      });
    });
  });
  return found;
}

Result<Inference> read_onnx_form(const ServedModel& served, const std::string& body) {
  Inference inference;
  InputSlots inputs(served.model.signatures().front());
  std::vector<std::string> filter;
  JsonReader reader(body);
  SLIPWAY_TRY(reader.object([&](const std::string& key) -> Status {
    if (key == "outputFilter")
      return reader.array([&]() -> Status {
        SLIPWAY_ASSIGN(std::string name, reader.string());
        filter.push_back(std::move(name));
        return {};
      });
    if (key != "inputs") return reader.skip();
    return reader.object([&](const std::string& name) -> Status {
      SLIPWAY_ASSIGN(const size_t index, inputs.find(name));
      SLIPWAY_ASSIGN(Tensor tensor, read_one(reader, name));
      return inputs.put(index, std::move(tensor));
    });
  }));
  SLIPWAY_TRY(reader.finish());
  SLIPWAY_ASSIGN(inference.inputs, inputs.take());
  inference.respond = [filter = std::move(filter)](const JobOutputs& outputs) {
    return respond(filter, outputs);
  };
  return inference;
}

}  // namespace slipway::serving

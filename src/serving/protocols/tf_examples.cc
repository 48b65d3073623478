#include "serving/protocols/tf_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/base64.h"
#include "serving/protocols/json_tensor.h"
#include "serving/protocols/tf_rest.h"
#include "serving/wire.h"

namespace slipway::serving {
namespace {

// Fields of Feature: bytes_list 1, float_list 2, int64_list 3; each list's one field is 1.
enum class Kind : uint32_t { kNone = 0, kBytes = 1, kFloat = 2, kWhole = 3 };

// The values of one feature. Whole numbers become floats when one of the others is.
class Feature {
 public:
  Status read(JsonReader& reader) {
    if (reader.peek() != '[') return read_one(reader);
    return reader.array([&] { return read_one(reader); });
  }

  std::string encoded() const {
    std::string list;
    if (kind_ == Kind::kBytes) {
      for (const std::string& text : texts_) append_field(list, 1, text);
    } else if (!numbers_.empty()) {
      std::string packed;
      for (const double number : numbers_) {
        if (kind_ == Kind::kWhole) {
          append_varint(packed, static_cast<uint64_t>(static_cast<int64_t>(number)));
          continue;
        }
        const auto bits = std::bit_cast<uint32_t>(static_cast<float>(number));
        packed.append(reinterpret_cast<const char*>(&bits), sizeof bits);
      }
      append_field(list, 1, packed);
    }
    std::string feature;
    if (kind_ != Kind::kNone) append_field(feature, static_cast<uint32_t>(kind_), list);
    return feature;
  }

 private:
  Status become(JsonReader& reader, Kind kind) {
    const bool mixed = (kind_ == Kind::kBytes) != (kind == Kind::kBytes);
    if (kind_ != Kind::kNone && mixed) return reader.wrong("a feature of text alone or of numbers alone");
    if (kind_ != Kind::kFloat) kind_ = kind;
    return {};
  }

  Status read_one(JsonReader& reader) {
    const char next = reader.peek();
    if (next == '"' || next == '{') {
      SLIPWAY_TRY(become(reader, Kind::kBytes));
      return read_text(reader);
    }
    const char* const from = reader.position();
    SLIPWAY_ASSIGN(const double number, reader.number());
    const std::string_view text(from, reader.position());
    // Beyond 2^53 a whole number may not be exact here, and TensorFlow's own reader takes it as it is.
    const bool whole = text.find_first_of(".eENI") == std::string_view::npos && std::abs(number) <= 0x1p53;
    SLIPWAY_TRY(become(reader, whole ? Kind::kWhole : Kind::kFloat));
    numbers_.push_back(number);
    return {};
  }

  Status read_text(JsonReader& reader) {
    if (reader.peek() == '"') {
      SLIPWAY_ASSIGN(std::string text, reader.string());
      texts_.push_back(std::move(text));
      return {};
    }
    return reader.object([&](const std::string& key) -> Status {
      if (key != "b64") return reader.wrong("the one member \"b64\"");
      SLIPWAY_ASSIGN(const std::string text, reader.string());
      SLIPWAY_ASSIGN(std::string bytes, from_base64(text));
      texts_.push_back(std::move(bytes));
      return {};
    });
  }

  Kind kind_ = Kind::kNone;
  std::vector<double> numbers_;
  std::vector<std::string> texts_;
};

Tensor text_tensor(const std::vector<std::string>& texts) {
  Tensor tensor{.type = DataType::kBytes,
                .shape = {static_cast<int64_t>(texts.size())},
                .elements = Elements(texts.size() * sizeof(SlipwayBytes)),
                .text = std::make_unique<std::string>()};
  for (const std::string& text : texts) *tensor.text += text;
  const char* at = tensor.text->data();
  for (size_t i = 0; i < texts.size(); ++i) {
    tensor.elements.as<SlipwayBytes>()[i] = {at, texts[i].size()};
    at += texts[i].size();
  }
  return tensor;
}

// {"signature_name": ..., "context": {...}, "examples": [{...}, ...]}
struct Examples {
  std::string signature;
  std::vector<std::string> examples;  // serialised
};

Result<Examples> read_examples(const std::string& body) {
  Examples found;
  std::string context;
  std::vector<std::string> features;
  JsonReader reader(body);
  SLIPWAY_TRY(reader.object([&](const std::string& key) -> Status {
    if (key == "signature_name") {
      SLIPWAY_ASSIGN(found.signature, reader.string());
      return {};
    }
    if (key == "context") {
      SLIPWAY_ASSIGN(context, read_features(reader));
      return {};
    }
    if (key != "examples") return reader.skip();
    return reader.array([&]() -> Status {
      SLIPWAY_ASSIGN(std::string one, read_features(reader));
      features.push_back(std::move(one));
      return {};
    });
  }));
  SLIPWAY_TRY(reader.finish());
  if (features.empty())
    return fail(ErrorCode::kInvalidArgument, "the body has no examples",
                "send {\"examples\": [{\"feature\": value, ...}, ...]}");
  for (const std::string& one : features) {
    std::string example;
    append_field(example, 1, context + one);
    found.examples.push_back(std::move(example));
  }
  return found;
}

const TensorView* find_output(const JobOutputs& outputs, std::string_view name) {
  for (const TensorView& tensor : outputs.tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

http::Response result_of(std::string list) {
  http::Response response;
  response.body = "{\"result\":" + std::move(list) + "}";
  return response;
}

std::unexpected<Error> unfit(std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("the signature's outputs are not those of {}", what),
              "use predict, or another signature_name");
}

// One list of [label, score] an example.
http::Response respond_classify(const JobOutputs& outputs) {
  const auto found = classification_of(outputs);
  if (!found) return tf_refusal(found.error());
  std::string list = "[";
  for (size_t row = 0; row < found->rows; ++row) {
    list += row == 0 ? "[" : ",[";
    for (size_t i = row * found->width; i < (row + 1) * found->width; ++i) {
      if (!list.ends_with('[')) list += ',';
      list += '[';
      append_json_text(list, found->label(i));
      list += ',';
      append_number(list, found->score(i));
      list += ']';
    }
    list += ']';
  }
  return result_of(std::move(list) + "]");
}

http::Response respond_regress(const JobOutputs& outputs) {
  const auto values = regression_of(outputs);
  if (!values) return tf_refusal(values.error());
  std::string list;
  append_tensor(list, **values, Nesting::kFlat);
  return result_of(std::move(list));
}

Result<Inference> read_with(const ServedModel& served, const http::Request& request,
                            http::Response (*respond)(const JobOutputs&)) {
  SLIPWAY_ASSIGN(const Examples examples, read_examples(request.body));
  SLIPWAY_ASSIGN(Inference inference, infer_examples(served, examples.signature, examples.examples));
  inference.respond = respond;
  return inference;
}

}  // namespace

Result<std::string> read_features(JsonReader& reader) {
  std::string features;
  SLIPWAY_TRY(reader.object([&](const std::string& name) -> Status {
    Feature feature;
    SLIPWAY_TRY(feature.read(reader));
    std::string entry;
    append_field(entry, 1, name);
    append_field(entry, 2, feature.encoded());
    append_field(features, 1, entry);
    return {};
  }));
  return features;
}

Result<Inference> infer_examples(const ServedModel& served, std::string_view signature_name,
                                 const std::vector<std::string>& examples) {
  Inference inference;
  SLIPWAY_ASSIGN(inference.signature, served.find_signature(signature_name));
  const Signature& signature = served.model.signatures()[inference.signature];
  if (signature.inputs.size() != 1 || signature.inputs.front().type != DataType::kBytes)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the signature '{}' does not take examples", signature.name),
                "use predict, or another signature_name");
  InputSlots inputs(signature);
  SLIPWAY_TRY(inputs.put(0, text_tensor(examples)));
  SLIPWAY_ASSIGN(inference.inputs, inputs.take());
  return inference;
}

Result<Classification> classification_of(const JobOutputs& outputs) {
  Classification found;
  found.classes = find_output(outputs, "classes");
  found.scores = find_output(outputs, "scores");
  const TensorView* any = found.classes != nullptr ? found.classes : found.scores;
  const bool fit = any != nullptr && any->shape.size() == 2 &&
                   (found.classes == nullptr || found.classes->type == DataType::kBytes) &&
                   (found.scores == nullptr || found.scores->type == DataType::kFp32) &&
                   (found.classes == nullptr || found.scores == nullptr ||
                    found.classes->count() == found.scores->count());
  if (!fit) return unfit("a classification");
  found.rows = static_cast<size_t>(any->shape[0]);
  found.width = static_cast<size_t>(any->shape[1]);
  return found;
}

std::string_view Classification::label(size_t i) const {
  if (classes == nullptr) return "";
  const SlipwayBytes& text = classes->as<SlipwayBytes>()[i];
  return {text.data, text.size};
}

float Classification::score(size_t i) const {
  return scores == nullptr ? 0.0F : scores->as<float>()[i];
}

Result<const TensorView*> regression_of(const JobOutputs& outputs) {
  const TensorView* values = find_output(outputs, "outputs");
  if (values == nullptr || values->type != DataType::kFp32 || values->shape.empty() ||
      values->count() != static_cast<size_t>(values->shape[0]))
    return unfit("a regression");
  return values;
}

Result<Inference> read_classify(const ServedModel& served, const http::Request& request) {
  return read_with(served, request, respond_classify);
}

Result<Inference> read_regress(const ServedModel& served, const http::Request& request) {
  return read_with(served, request, respond_regress);
}

}  // namespace slipway::serving

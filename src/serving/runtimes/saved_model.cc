#include "serving/runtimes/saved_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "serving/tf_types.h"
#include "serving/wire.h"

namespace slipway::serving {
namespace {

// Field numbers of TensorFlow's saved_model.proto, meta_graph.proto and tensor_shape.proto.
namespace field {
constexpr uint32_t kMetaGraphs = 2;  // of SavedModel
constexpr uint32_t kMetaInfo = 1;    // of MetaGraphDef
constexpr uint32_t kSignatures = 5;
constexpr uint32_t kTags = 4;    // of MetaInfoDef
constexpr uint32_t kMapKey = 1;  // of every map's entry
constexpr uint32_t kMapValue = 2;
constexpr uint32_t kInputs = 1;  // of SignatureDef
constexpr uint32_t kOutputs = 2;
constexpr uint32_t kMethod = 3;
constexpr uint32_t kTensorName = 1;  // of TensorInfo
constexpr uint32_t kTensorType = 2;
constexpr uint32_t kTensorShape = 3;
constexpr uint32_t kDimension = 2;  // of TensorShapeProto
constexpr uint32_t kUnknownRank = 3;
constexpr uint32_t kSize = 1;  // of Dim
}  // namespace field

// TensorFlow's own, for its use alone.
bool is_internal(std::string_view name) {
  return name == "__saved_model_init_op" || name == "__saved_model_train_op";
}

// A damaged message throws the whole model out: this remembers it through the nested readers.
class Decoder {
 public:
  bool broken() const { return broken_; }

  template <class Visit>
  void fields(std::string_view bytes, Visit visit) {
    WireReader reader(bytes);
    while (const auto one = reader.next()) visit(*one);
    broken_ = broken_ || reader.broken();
  }

  std::pair<std::string, std::string_view> entry(std::string_view bytes) {
    std::pair<std::string, std::string_view> pair;
    fields(bytes, [&](const WireField& one) {
      if (one.number == field::kMapKey) pair.first = one.bytes;
      if (one.number == field::kMapValue) pair.second = one.bytes;
    });
    return pair;
  }

  std::optional<Shape> shape(std::string_view bytes) {
    Shape found;
    bool unknown = false;
    fields(bytes, [&](const WireField& one) {
      if (one.number == field::kUnknownRank) unknown = one.value != 0;
      if (one.number != field::kDimension || !one.delimited) return;
      int64_t size = 0;
      fields(one.bytes, [&](const WireField& part) {
        if (part.number == field::kSize) size = static_cast<int64_t>(part.value);
      });
      found.push_back(std::max<int64_t>(size, -1));
    });
    return unknown ? std::nullopt : std::optional(std::move(found));
  }

  // nullopt for what is no plain tensor: sparse, composite, or of a type that cannot be served.
  std::optional<SavedTensor> tensor(std::string name, std::string_view bytes) {
    SavedTensor found;
    found.spec.name = std::move(name);
    std::string_view address;
    std::optional<DataType> type;
    fields(bytes, [&](const WireField& one) {
      if (one.number == field::kTensorName) address = one.bytes;
      if (one.number == field::kTensorType) type = from_tf_number(one.value);
      if (one.number == field::kTensorShape) found.spec.shape = shape(one.bytes);
    });
    const size_t colon = address.rfind(':');
    if (!type || address.empty() || found.spec.shape.value_or(Shape()).size() > 32) return std::nullopt;
    found.spec.type = *type;
    found.operation = address.substr(0, colon);
    if (colon != std::string_view::npos) {
      const std::string_view index = address.substr(colon + 1);
      const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), found.output);
      if (error != std::errc() || end != index.data() + index.size() || found.output < 0) return std::nullopt;
    }
    return found;
  }

  // nullopt for one with an input or output that cannot be served.
  std::optional<SavedSignature> signature(std::string name, std::string_view bytes) {
    SavedSignature found;
    found.name = std::move(name);
    bool servable = true;
    fields(bytes, [&](const WireField& one) {
      if (one.number == field::kMethod) found.method = one.bytes;
      if (one.number != field::kInputs && one.number != field::kOutputs) return;
      auto [key, value] = entry(one.bytes);
      auto read = tensor(std::move(key), value);
      servable = servable && read;
      if (read) (one.number == field::kInputs ? found.inputs : found.outputs).push_back(std::move(*read));
    });
    if (!servable || found.outputs.empty()) return std::nullopt;
    const auto by_name = [](const SavedTensor& one) -> const std::string& { return one.spec.name; };
    std::ranges::sort(found.inputs, {}, by_name);
    std::ranges::sort(found.outputs, {}, by_name);
    return found;
  }

  SavedModel graph(std::string_view bytes) {
    SavedModel model;
    fields(bytes, [&](const WireField& one) {
      if (one.number == field::kMetaInfo && one.delimited)
        fields(one.bytes, [&](const WireField& part) {
          if (part.number == field::kTags) model.tags.emplace_back(part.bytes);
        });
      if (one.number != field::kSignatures || !one.delimited) return;
      auto [name, value] = entry(one.bytes);
      if (is_internal(name)) return;
      if (auto read = signature(std::move(name), value)) model.signatures.push_back(std::move(*read));
    });
    return model;
  }

 private:
  bool broken_ = false;
};

}  // namespace

Result<SavedModel> read_saved_model(std::string_view bytes) {
  Decoder decoder;
  std::optional<SavedModel> chosen;
  bool serves = false;
  decoder.fields(bytes, [&](const WireField& one) {
    if (one.number != field::kMetaGraphs || !one.delimited || serves) return;
    SavedModel graph = decoder.graph(one.bytes);
    serves = std::ranges::find(graph.tags, "serve") != graph.tags.end();
    if (serves || !chosen) chosen = std::move(graph);
  });
  if (decoder.broken() || !chosen)
    return fail(ErrorCode::kInvalidArgument, "saved_model.pb is not a SavedModel, or its end is missing",
                "save the model again, or copy it again");
  if (chosen->signatures.empty())
    return fail(
        ErrorCode::kInvalidArgument, "the SavedModel has no signature that can be served",
        "save it with signatures: model.export(DIR) for Keras, signatures=... for tf.saved_model.save");
  std::ranges::sort(chosen->signatures, [](const SavedSignature& a, const SavedSignature& b) {
    const bool a_first = a.name == "serving_default";
    const bool b_first = b.name == "serving_default";
    return a_first != b_first ? a_first : a.name < b.name;
  });
  return std::move(*chosen);
}

}  // namespace slipway::serving

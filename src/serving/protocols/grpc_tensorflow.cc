#include "serving/protocols/grpc_tensorflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "http/grpc.h"
#include "serving/protocols/grpc_call.h"
#include "serving/protocols/tensor_proto.h"
#include "serving/protocols/tf_examples.h"
#include "serving/wire.h"

namespace slipway::serving {
namespace {

// Every map's entry.
constexpr uint32_t kKey = 1;
constexpr uint32_t kValue = 2;

// A ModelSpec: which model, version and signature. A version may be named by a label, of which there are none
// here.
struct ModelSpec {
  std::string_view name;
  std::string version;
  std::string_view signature;
  std::string_view label;
};

ModelSpec read_spec(std::string_view message) {
  ModelSpec spec;
  WireReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 1) spec.name = field->bytes;
    if (field->number == 3) spec.signature = field->bytes;
    if (field->number == 4) spec.label = field->bytes;
    if (field->number == 2) {  // an Int64Value
      WireReader value(field->bytes);
      while (const auto inner = value.next())
        if (inner->number == 1) spec.version = std::to_string(static_cast<int64_t>(inner->value));
    }
  }
  return spec;
}

Status check_spec(const ServedModel& served, const ModelSpec& spec) {
  if (!spec.label.empty())
    return fail(ErrorCode::kNotFound, fmt::format("the model has no version labelled '{}' here", spec.label),
                fmt::format("this server has its version {}", served.version));
  return served.check(spec.name, spec.version);
}

std::string spec_of(const ServedModel& served, std::string_view signature) {
  std::string spec;
  append_field(spec, 1, served.name);
  int64_t version = 0;
  const std::string& text = served.version;
  if (std::from_chars(text.data(), text.data() + text.size(), version).ec == std::errc()) {
    std::string value;
    append_whole(value, 1, static_cast<uint64_t>(version));
    append_field(spec, 2, value);
  }
  if (!signature.empty()) append_field(spec, 3, signature);
  return spec;
}

// A PredictRequest.
struct PredictRequest {
  ModelSpec spec;
  std::vector<std::pair<std::string_view, std::string_view>> inputs;
  std::vector<std::string> outputs;  // empty: all of them
};

Result<PredictRequest> read_request(std::string_view message) {
  PredictRequest request;
  WireReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 1) request.spec = read_spec(field->bytes);
    if (field->number == 2)
      request.inputs.emplace_back(field_text(field->bytes, kKey), field_text(field->bytes, kValue));
    if (field->number == 3) request.outputs.emplace_back(field->bytes);
  }
  if (reader.broken()) return no_message("the request");
  return request;
}

http::Response respond_predict(const ServedModel& served, const Signature& signature,
                               const std::vector<std::string>& wanted, const JobOutputs& outputs) {
  std::string framed = http::begin_grpc();
  for (const TensorView& tensor : outputs.tensors) {
    if (!wanted.empty() && std::ranges::find(wanted, tensor.name) == wanted.end()) continue;
    std::string entry;
    append_field(entry, kKey, tensor.name);
    append_field(entry, kValue, to_tensor_proto(tensor));
    append_field(framed, 1, entry);
  }
  append_field(framed, 2, spec_of(served, signature.name));
  return http::grpc_response(std::move(framed));
}

// The examples of a ClassificationRequest or a RegressionRequest, serialised, each with the context they
// share.
Result<std::vector<std::string>> read_examples(std::string_view input) {
  std::vector<std::string> examples;
  WireReader reader(input);
  while (const auto list = reader.next()) {
    if (list->number != 1 && list->number != 2) continue;
    std::string_view context = list->number == 2 ? field_text(list->bytes, 2) : "";
    WireReader each(list->bytes);
    // Messages that stand one behind the other are merged when they are read.
    while (const auto example = each.next())
      if (example->number == 1) examples.push_back(std::string(context) += example->bytes);
    if (each.broken()) return no_message("the list of examples");
  }
  if (reader.broken()) return no_message("the input");
  if (examples.empty()) return fail(ErrorCode::kInvalidArgument, "the request has no examples", "send one");
  return examples;
}

Result<Inference> read_with_examples(const ServedModel& served, std::string_view message) {
  const ModelSpec spec = read_spec(field_text(message, 1));
  SLIPWAY_TRY(check_spec(served, spec));
  SLIPWAY_ASSIGN(const std::vector<std::string> examples, read_examples(field_text(message, 2)));
  return infer_examples(served, spec.signature, examples);
}

http::Response result_of(const ServedModel& served, std::string_view result) {
  std::string framed = http::begin_grpc();
  append_field(framed, 1, result);
  append_field(framed, 2, spec_of(served, ""));
  return http::grpc_response(std::move(framed));
}

Result<Inference> read_classify(const ServedModel& served, std::string_view message) {
  SLIPWAY_ASSIGN(Inference inference, read_with_examples(served, message));
  inference.respond = [&served](const JobOutputs& outputs) {
    const auto found = classification_of(outputs);
    if (!found) return http::grpc_refusal(found.error());
    std::string result;
    for (size_t row = 0; row < found->rows; ++row) {
      std::string classes;
      for (size_t i = row * found->width; i < (row + 1) * found->width; ++i) {
        std::string one;
        append_field(one, 1, found->label(i));
        append_float(one, 2, found->score(i));
        append_field(classes, 1, one);
      }
      append_field(result, 1, classes);
    }
    return result_of(served, result);
  };
  return inference;
}

Result<Inference> read_regress(const ServedModel& served, std::string_view message) {
  SLIPWAY_ASSIGN(Inference inference, read_with_examples(served, message));
  inference.respond = [&served](const JobOutputs& outputs) {
    const auto values = regression_of(outputs);
    if (!values) return http::grpc_refusal(values.error());
    std::string result;
    for (const float value : (*values)->as<float>()) {
      std::string one;
      append_float(one, 1, value);
      append_field(result, 1, one);
    }
    return result_of(served, result);
  };
  return inference;
}

void append_infos(std::string& out, uint32_t number, const std::vector<TensorSpec>& specs) {
  for (const TensorSpec& spec : specs) {
    std::string entry;
    append_field(entry, kKey, spec.name);
    append_field(entry, kValue, to_tensor_info(spec));
    append_field(out, number, entry);
  }
}

// The signatures, as a SignatureDefMap inside an Any.
Result<http::Response> model_metadata(const ServedModel& served, std::string_view message) {
  SLIPWAY_TRY(check_spec(served, read_spec(field_text(message, 1))));
  WireReader reader(message);
  while (const auto field = reader.next())
    if (field->number == 2 && field->bytes != "signature_def")
      return fail(ErrorCode::kInvalidArgument, fmt::format("there is no metadata '{}'", field->bytes),
                  "ask for signature_def");
  std::string signatures;
  for (const Signature& signature : served.model.signatures()) {
    std::string definition;
    append_infos(definition, 1, signature.inputs);
    append_infos(definition, 2, signature.outputs);
    append_field(definition, 3, signature.method);
    std::string entry;
    append_field(entry, kKey, signature.name);
    append_field(entry, kValue, definition);
    append_field(signatures, 1, entry);
  }
  std::string any;
  append_field(any, 1, "type.googleapis.com/tensorflow.serving.SignatureDefMap");
  append_field(any, 2, signatures);
  std::string entry;
  append_field(entry, kKey, "signature_def");
  append_field(entry, kValue, any);
  std::string framed = http::begin_grpc();
  append_field(framed, 1, spec_of(served, ""));
  append_field(framed, 2, entry);
  return http::grpc_response(std::move(framed));
}

Result<http::Response> model_status(const ServedModel& served, std::string_view message) {
  SLIPWAY_TRY(check_spec(served, read_spec(field_text(message, 1))));
  constexpr uint64_t kAvailable = 30;
  constexpr uint64_t kUnloading = 40;
  std::string status;
  int64_t version = 0;
  std::from_chars(served.version.data(), served.version.data() + served.version.size(), version);
  append_whole(status, 1, static_cast<uint64_t>(version));
  append_whole(status, 2, served.ready ? kAvailable : kUnloading);
  append_field(status, 3, "");
  std::string framed = http::begin_grpc();
  append_field(framed, 1, status);
  return http::grpc_response(std::move(framed));
}

}  // namespace

Result<Inference> read_grpc_predict(const ServedModel& served, std::string_view message) {
  SLIPWAY_ASSIGN(PredictRequest request, read_request(message));
  SLIPWAY_TRY(check_spec(served, request.spec));
  Inference inference;
  SLIPWAY_ASSIGN(inference.signature, served.find_signature(request.spec.signature));
  const Signature& signature = served.model.signatures()[inference.signature];
  for (const std::string& name : request.outputs)
    if (std::ranges::find(signature.outputs, name, &TensorSpec::name) == signature.outputs.end())
      return fail(ErrorCode::kInvalidArgument, fmt::format("the signature has no output '{}'", name),
                  "its metadata lists those it has");
  InputSlots inputs(signature);
  for (const auto& [name, proto] : request.inputs) {
    SLIPWAY_ASSIGN(const size_t index, inputs.find(name));
    SLIPWAY_ASSIGN(Tensor tensor, read_tensor_proto(proto, signature.inputs[index]));
    SLIPWAY_TRY(inputs.put(index, std::move(tensor)));
  }
  SLIPWAY_ASSIGN(inference.inputs, inputs.take());
  inference.respond = [&served, &signature, wanted = std::move(request.outputs)](const JobOutputs& outputs) {
    return respond_predict(served, signature, wanted, outputs);
  };
  return inference;
}

void add_grpc_tensorflow_routes(http::Router& router, ServedModel& served, uint64_t body_limit) {
  const std::string predictions = "/tensorflow.serving.PredictionService/";
  add_grpc_inference(router, served, predictions + "Predict", grpc_inference<read_grpc_predict>, body_limit);
  add_grpc_inference(router, served, predictions + "Classify", grpc_inference<read_classify>, body_limit);
  add_grpc_inference(router, served, predictions + "Regress", grpc_inference<read_regress>, body_limit);
  using http::Access;
  add_grpc_query(router, served, predictions + "GetModelMetadata", Access::kReader, model_metadata);
  add_grpc_query(router, served, "/tensorflow.serving.ModelService/GetModelStatus", Access::kReader,
                 model_status);
}

}  // namespace slipway::serving

#include "serving/protocols/grpc_open_inference.h"

#include <fmt/format.h>

#include <optional>

#include "http/grpc.h"
#include "serving/protocols/binary_tensor.h"
#include "serving/protocols/grpc_call.h"
#include "serving/protocols/wire_tensor.h"
#include "serving/wire.h"

namespace slipway::serving {
namespace {

constexpr size_t kMaxRank = 32;

// The field of InferTensorContents that carries a type.
uint32_t contents_field(DataType type) {
  switch (type) {
    case DataType::kBool: return 1;
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32: return 2;
    case DataType::kInt64: return 3;
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32: return 4;
    case DataType::kUint64: return 5;
    case DataType::kFp32: return 6;
    case DataType::kFp64: return 7;
    case DataType::kBytes: return 8;
    case DataType::kFp16: break;  // travels raw alone
  }
  return 0;
}

// An InferInputTensor.
struct Input {
  std::string_view name;
  std::string_view datatype;
  Shape shape;
  std::optional<std::string_view> contents;
};

Result<Input> read_input(std::string_view message) {
  Input input;
  WireReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 1) input.name = field->bytes;
    if (field->number == 2) input.datatype = field->bytes;
    if (field->number == 3 && !read_wholes(*field, input.shape, kMaxRank))
      return no_message("the shape of an input");
    if (field->number == 5) input.contents = field->bytes;
  }
  if (reader.broken()) return no_message("an input");
  return input;
}

// A ModelInferRequest.
struct Wanted {
  std::string id;
  std::vector<std::string> outputs;  // empty: all of them
  bool raw = true;
};

struct InferRequest {
  std::string_view model;
  std::string_view version;
  std::vector<Input> inputs;
  std::vector<std::string_view> raw;
  Wanted wanted;
};

Result<InferRequest> read_request(std::string_view message) {
  InferRequest request;
  WireReader reader(message);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: request.model = field->bytes; break;
      case 2: request.version = field->bytes; break;
      case 3: request.wanted.id = field->bytes; break;
      case 5: {
        SLIPWAY_ASSIGN(Input input, read_input(field->bytes));
        request.inputs.push_back(std::move(input));
        break;
      }
      case 6: request.wanted.outputs.emplace_back(field_text(field->bytes, 1)); break;
      case 7: request.raw.push_back(field->bytes); break;
      default: break;
    }
  }
  if (reader.broken()) return no_message("the request");
  request.wanted.raw = !request.raw.empty();
  return request;
}

Result<Tensor> tensor_of(const Input& input, DataType type, std::optional<std::string_view> raw) {
  // MLServer's client sends contents without an element beside the raw ones.
  const bool typed = input.contents && (!raw || !input.contents->empty());
  if (raw.has_value() == typed)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the input '{}' has {} contents", input.name, raw ? "both raw and typed" : "no"),
                "send either raw_input_contents for all inputs, or contents in each");
  if (raw) return read_binary(*raw, type, input.shape);
  const uint32_t number = contents_field(type);
  if (number == 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the input '{}' of type {} has typed contents", input.name, to_text(type)),
                "send it in raw_input_contents");
  return read_values(*input.contents, {.number = number, .kind = wire_kind(type)}, type, input.shape);
}

Status check_outputs(const Signature& signature, const std::vector<std::string>& wanted) {
  for (const std::string& name : wanted) {
    bool known = false;
    for (const TensorSpec& spec : signature.outputs) known = known || spec.name == name;
    if (!known)
      return fail(ErrorCode::kInvalidArgument, fmt::format("the model has no output '{}'", name),
                  "its metadata lists those it has");
  }
  return {};
}

// A ModelInferResponse: its outputs and, behind them, their raw contents.
class Answer {
 public:
  Answer(const ServedModel& served, const Wanted& wanted) : raw_(wanted.raw) {
    append_field(framed_, 1, served.name);
    append_field(framed_, 2, served.version);
    if (!wanted.id.empty()) append_field(framed_, 3, wanted.id);
  }

  void add(const TensorView& tensor) {
    std::string output;
    append_field(output, 1, tensor.name);
    append_field(output, 2, to_text(tensor.type));
    append_wholes(output, 3, tensor.shape);
    const uint32_t number = contents_field(tensor.type);
    if (raw_ || number == 0) {
      append_head(contents_, 6, binary_size(tensor));
      append_binary(contents_, tensor);
    } else {
      std::string contents;
      append_values(contents, {.number = number, .kind = wire_kind(tensor.type)}, tensor);
      append_field(output, 5, contents);
    }
    append_field(framed_, 5, output);
  }

  http::Response take() { return http::grpc_response(std::move(framed_) + contents_); }

 private:
  const bool raw_;
  std::string framed_ = http::begin_grpc();
  std::string contents_;
};

http::Response respond(const ServedModel& served, const Wanted& wanted, const JobOutputs& outputs) {
  Answer answer(served, wanted);
  if (wanted.outputs.empty())
    for (const TensorView& tensor : outputs.tensors) answer.add(tensor);
  for (const std::string& name : wanted.outputs)
    for (const TensorView& tensor : outputs.tensors)
      if (tensor.name == name) answer.add(tensor);
  return answer.take();
}

// Messages with one field, a truth.
http::Response truth(bool value) {
  std::string framed = http::begin_grpc();
  append_whole(framed, 1, value ? 1 : 0);
  return http::grpc_response(std::move(framed));
}

void append_metadata(std::string& out, uint32_t number, const std::vector<TensorSpec>& specs) {
  for (const TensorSpec& spec : specs) {
    std::string tensor;
    append_field(tensor, 1, spec.name);
    append_field(tensor, 2, to_text(spec.type));
    if (spec.shape) append_wholes(tensor, 3, *spec.shape);
    append_field(out, number, tensor);
  }
}

// Requests about a model begin with its name and version.
Status check_model(const ServedModel& served, std::string_view message) {
  return served.check(field_text(message, 1), field_text(message, 2));
}

Result<http::Response> model_metadata(const ServedModel& served, std::string_view message) {
  SLIPWAY_TRY(check_model(served, message));
  std::string framed = http::begin_grpc();
  append_field(framed, 1, served.name);
  append_field(framed, 2, served.version);
  append_field(framed, 3, served.model.platform());
  if (!served.model.signatures().empty()) {
    append_metadata(framed, 4, served.model.signatures().front().inputs);
    append_metadata(framed, 5, served.model.signatures().front().outputs);
  }
  return http::grpc_response(std::move(framed));
}

Result<http::Response> model_ready(const ServedModel& served, std::string_view message) {
  SLIPWAY_TRY(check_model(served, message));
  return truth(served.ready);
}

Result<http::Response> server_metadata(const ServedModel&, std::string_view) {
  std::string framed = http::begin_grpc();
  append_field(framed, 1, "slipway");
  append_field(framed, 2, SLIPWAY_VERSION);
  append_field(framed, 3, "binary_tensor_data");
  return http::grpc_response(std::move(framed));
}

Result<http::Response> server_live(const ServedModel&, std::string_view) {
  return truth(true);
}

Result<http::Response> server_ready(const ServedModel& served, std::string_view) {
  return truth(served.ready);
}

// gRPC's own question about health, which load balancers ask: 1 is SERVING, 2 NOT_SERVING.
Result<http::Response> health(const ServedModel& served, std::string_view) {
  std::string framed = http::begin_grpc();
  append_whole(framed, 1, served.ready ? 1 : 2);
  return http::grpc_response(std::move(framed));
}

}  // namespace

Result<Inference> read_model_infer(const ServedModel& served, std::string_view message) {
  SLIPWAY_ASSIGN(InferRequest request, read_request(message));
  SLIPWAY_TRY(served.check(request.model, request.version));
  Inference inference;
  const Signature& signature = served.model.signatures().front();
  if (!request.raw.empty() && request.raw.size() != request.inputs.size())
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("there are {} raw contents for {} inputs", request.raw.size(), request.inputs.size()),
        "send one for each input, in their order");
  SLIPWAY_TRY(check_outputs(signature, request.wanted.outputs));
  InputSlots inputs(signature);
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const Input& input = request.inputs[i];
    SLIPWAY_ASSIGN(const size_t index, inputs.find(input.name));
    const auto type = data_type_from_text(input.datatype);
    if (!type)
      return fail(ErrorCode::kInvalidArgument, fmt::format("there is no datatype '{}'", input.datatype),
                  "BOOL, UINT8 to UINT64, INT8 to INT64, FP16, FP32, FP64 and BYTES are known");
    SLIPWAY_TRY(check_fits(signature.inputs[index], *type, input.shape));
    SLIPWAY_ASSIGN(
        Tensor tensor,
        tensor_of(input, *type, request.raw.empty() ? std::nullopt : std::optional(request.raw[i])));
    SLIPWAY_TRY(inputs.put(index, std::move(tensor)));
  }
  SLIPWAY_ASSIGN(inference.inputs, inputs.take());
  inference.respond = [&served, wanted = std::move(request.wanted)](const JobOutputs& outputs) {
    return respond(served, wanted, outputs);
  };
  return inference;
}

void add_grpc_open_inference_routes(http::Router& router, ServedModel& served, uint64_t body_limit) {
  constexpr std::string_view kService = "/inference.GRPCInferenceService/";
  add_grpc_inference(router, served, fmt::format("{}ModelInfer", kService), grpc_inference<read_model_infer>,
                     body_limit);
  using http::Access;
  const auto add = [&](std::string_view call, Access access, GrpcQuery query) {
    add_grpc_query(router, served, fmt::format("{}{}", kService, call), access, query);
  };
  add("ServerLive", Access::kPublic, server_live);
  add("ServerReady", Access::kPublic, server_ready);
  add("ModelReady", Access::kReader, model_ready);
  add("ServerMetadata", Access::kReader, server_metadata);
  add("ModelMetadata", Access::kReader, model_metadata);
  add_grpc_query(router, served, "/grpc.health.v1.Health/Check", Access::kPublic, health);
}

}  // namespace slipway::serving

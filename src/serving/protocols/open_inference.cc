#include "serving/protocols/open_inference.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "serving/protocols/binary_tensor.h"
#include "serving/protocols/json_tensor.h"
#include "serving/protocols/open_inference_about.h"

namespace slipway::serving {
namespace {

constexpr std::string_view kJsonLengthHeader = "inference-header-content-length";

http::Response refuse(const Error& error) {
  http::Response response = http::error_response(error);
  const std::string text =
      error.next.empty() ? error.message : fmt::format("{}; {}", error.message, error.next);
  response.body = json::serialize(json::object{{"error", text}});
  return response;
}

struct WantedOutput {
  std::string name;
  std::optional<bool> binary;
};

// The parts of a request that say how the answer looks.
struct Wanted {
  std::string id;
  bool has_id = false;
  bool all_binary = false;
  std::vector<WantedOutput> outputs;  // empty: all of them
};

struct ReadParameters {
  std::optional<uint64_t> binary_size;
  std::optional<bool> binary;         // of an output
  std::optional<bool> binary_output;  // of a request
};

Result<ReadParameters> read_parameters(JsonReader& reader) {
  ReadParameters parameters;
  SLIPWAY_TRY(reader.object([&](const std::string& key) -> Status {
    if (key == "binary_data_size") {
      bool negative = false;
      SLIPWAY_ASSIGN(parameters.binary_size, reader.whole(negative));
      return negative ? reader.wrong("a size") : Status();
    }
    if (key == "binary_data") {
      SLIPWAY_ASSIGN(parameters.binary, reader.boolean());
      return {};
    }
    if (key == "binary_data_output") {
      SLIPWAY_ASSIGN(parameters.binary_output, reader.boolean());
      return {};
    }
    return reader.skip();
  }));
  return parameters;
}

Result<Shape> read_shape(JsonReader& reader) {
  Shape shape;
  SLIPWAY_TRY(reader.array([&]() -> Status {
    bool negative = false;
    SLIPWAY_ASSIGN(const uint64_t size, reader.whole(negative));
    if (negative || size > kMaxElements || shape.size() == 32) return reader.wrong("the size of a dimension");
    shape.push_back(static_cast<int64_t>(size));
    return {};
  }));
  return shape;
}

// Reads one request; `binary` is what stands behind the JSON.
class Reading {
 public:
  Reading(JsonReader& reader, const Signature& signature, std::string_view binary)
      : reader_(reader), signature_(signature), inputs_(signature), binary_(binary) {}

  Status read() {
    SLIPWAY_TRY(reader_.object([&](const std::string& key) -> Status {
      if (key == "id") {
        wanted_.has_id = true;
        SLIPWAY_ASSIGN(wanted_.id, reader_.string());
        return {};
      }
      if (key == "parameters") {
        SLIPWAY_ASSIGN(const ReadParameters parameters, read_parameters(reader_));
        wanted_.all_binary = parameters.binary_output.value_or(false);
        return {};
      }
      if (key == "inputs") return reader_.array([&] { return read_input(); });
      if (key == "outputs") return reader_.array([&] { return read_output(); });
      return reader_.skip();
    }));
    if (!binary_.empty())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} bytes of the body belong to no input", binary_.size()),
                  "give each binary input its parameter binary_data_size");
    return {};
  }

  Result<std::vector<Tensor>> take() { return inputs_.take(); }
  Wanted take_wanted() { return std::move(wanted_); }

 private:
  struct Input {
    std::string name;
    std::optional<Shape> shape;
    std::optional<DataType> type;
    const char* data = nullptr;  // where it stands, when it came before the rest
    std::optional<Tensor> tensor;
    ReadParameters parameters;
  };

  Status read_member(Input& input, const std::string& key) {
    if (key == "name") {
      SLIPWAY_ASSIGN(input.name, reader_.string());
      return {};
    }
    if (key == "shape") {
      SLIPWAY_ASSIGN(input.shape, read_shape(reader_));
      return {};
    }
    if (key == "datatype") {
      SLIPWAY_ASSIGN(const std::string name, reader_.string());
      input.type = data_type_from_text(name);
      if (!input.type)
        return fail(ErrorCode::kInvalidArgument, fmt::format("there is no datatype '{}'", name),
                    "BOOL, UINT8 to UINT64, INT8 to INT64, FP16, FP32, FP64 and BYTES are known");
      return {};
    }
    if (key == "parameters") {
      SLIPWAY_ASSIGN(input.parameters, read_parameters(reader_));
      return {};
    }
    if (key == "data") {
      reader_.peek();
      input.data = reader_.position();
      if (!input.shape || !input.type) return reader_.skip();
      SLIPWAY_ASSIGN(input.tensor, read_tensor(reader_, *input.type, *input.shape));
      return {};
    }
    return reader_.skip();
  }

  Status read_input() {
    Input input;
    SLIPWAY_TRY(reader_.object([&](const std::string& key) { return read_member(input, key); }));
    SLIPWAY_ASSIGN(const size_t index, inputs_.find(input.name));
    if (!input.shape || !input.type)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the input '{}' lacks its shape or its datatype", input.name), "give both");
    SLIPWAY_TRY(check_fits(signature_.inputs[index], *input.type, *input.shape));
    if (input.parameters.binary_size) {
      const uint64_t size = *input.parameters.binary_size;
      if (size > binary_.size() || input.data != nullptr)
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("the input '{}' announces {} bytes and {} are there", input.name, size,
                                binary_.size()),
                    "send its bytes behind the JSON, in the order of the inputs");
      SLIPWAY_ASSIGN(input.tensor, read_binary(binary_.substr(0, size), *input.type, *input.shape));
      binary_.remove_prefix(size);
    } else if (!input.tensor && input.data != nullptr) {
      const char* const behind = reader_.position();
      reader_.rewind(input.data);
      SLIPWAY_ASSIGN(input.tensor, read_tensor(reader_, *input.type, *input.shape));
      reader_.rewind(behind);
    }
    if (!input.tensor)
      return fail(ErrorCode::kInvalidArgument, fmt::format("the input '{}' has no data", input.name));
    return inputs_.put(index, std::move(*input.tensor));
  }

  Status read_output() {
    WantedOutput output;
    SLIPWAY_TRY(reader_.object([&](const std::string& key) -> Status {
      if (key == "name") {
        SLIPWAY_ASSIGN(output.name, reader_.string());
        return {};
      }
      if (key != "parameters") return reader_.skip();
      SLIPWAY_ASSIGN(const ReadParameters parameters, read_parameters(reader_));
      output.binary = parameters.binary;
      return {};
    }));
    for (const TensorSpec& spec : signature_.outputs)
      if (spec.name == output.name) {
        wanted_.outputs.push_back(std::move(output));
        return {};
      }
    return fail(ErrorCode::kInvalidArgument, fmt::format("the model has no output '{}'", output.name),
                "its metadata lists those it has");
  }

  JsonReader& reader_;
  const Signature& signature_;
  InputSlots inputs_;
  std::string_view binary_;
  Wanted wanted_;
};

void append_output(std::string& head, std::string& binary, const TensorView& tensor, bool as_binary) {
  head += "{\"name\":";
  append_json_text(head, tensor.name);
  head += fmt::format(",\"datatype\":\"{}\",\"shape\":{}", to_text(tensor.type), to_text(tensor.shape));
  if (as_binary) {
    head += fmt::format(",\"parameters\":{{\"binary_data_size\":{}}}}}", binary_size(tensor));
    append_binary(binary, tensor);
    return;
  }
  head += ",\"data\":";
  append_tensor(head, tensor, Nesting::kFlat);
  head += '}';
}

http::Response respond(const ServedModel& served, const Wanted& wanted, const JobOutputs& outputs) {
  std::string head = "{\"model_name\":";
  append_json_text(head, served.name);
  head += ",\"model_version\":";
  append_json_text(head, served.version);
  if (wanted.has_id) {
    head += ",\"id\":";
    append_json_text(head, wanted.id);
  }
  head += ",\"outputs\":[";
  std::string binary;
  const auto add = [&](const TensorView& tensor, bool as_binary) {
    if (!head.ends_with('[')) head += ',';
    append_output(head, binary, tensor, as_binary);
  };
  if (wanted.outputs.empty())
    for (const TensorView& tensor : outputs.tensors) add(tensor, wanted.all_binary);
  for (const WantedOutput& output : wanted.outputs)
    for (const TensorView& tensor : outputs.tensors)
      if (tensor.name == output.name) add(tensor, output.binary.value_or(wanted.all_binary));
  head += "]}";
  http::Response response;
  if (!binary.empty() || wanted.all_binary) {
    response.content_type = "application/octet-stream";
    response.headers["Inference-Header-Content-Length"] = std::to_string(head.size());
    head += binary;
  }
  response.body = std::move(head);
  return response;
}

Result<Inference> read_request(const ServedModel& served, const http::Request& request) {
  size_t length = request.body.size();
  if (const auto given = request.headers.find(kJsonLengthHeader); given != request.headers.end()) {
    const std::string& text = given->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error != std::errc() || end != text.data() + text.size() || length > request.body.size())
      return fail(ErrorCode::kInvalidArgument,
                  "Inference-Header-Content-Length is not the length of the JSON",
                  "give how many bytes of the body are JSON");
  }
  return read_open_inference(served, request.body, length);
}

constexpr Protocol kProtocol{.read = read_request, .refuse = refuse};

}  // namespace

Result<Inference> read_open_inference(const ServedModel& served, const std::string& body,
                                      size_t json_length) {
  Inference inference;
  const Signature& signature = served.model.signatures().front();
  const std::string_view binary = std::string_view(body).substr(json_length);
  std::string head;  // JSON that ends before the body does needs an end of its own
  if (!binary.empty()) head = body.substr(0, json_length);
  JsonReader reader(binary.empty() ? body : head);
  Reading reading(reader, signature, binary);
  SLIPWAY_TRY(reading.read());
  SLIPWAY_TRY(reader.finish());
  SLIPWAY_ASSIGN(inference.inputs, reading.take());
  inference.respond = [&served, wanted = reading.take_wanted()](const JobOutputs& outputs) {
    return respond(served, wanted, outputs);
  };
  return inference;
}

void add_open_inference_routes(http::Router& router, ServedModel& served, uint64_t body_limit) {
  using http::Access;
  using http::Method;
  const auto known = [&served](const http::Request& request) {
    const auto version = request.params.find("version");
    return served.check(request.param("model"), version == request.params.end() ? "" : version->second);
  };
  const auto infer_handler = [&served, known](http::Request& request, http::Turn& turn, http::Answer answer) {
    if (const Status found = known(request); !found) return answer(refuse(found.error()));
    infer(served, kProtocol, request, turn, std::move(answer));
  };
  const auto show = [&served, known](json::object (*what)(const ServedModel&)) {
    return [&served, known, what](const http::Request& request) -> Result<http::Response> {
      const Status found = known(request);
      return found ? http::json_response(what(served)) : refuse(found.error());
    };
  };
  router.add({Method::kGet, "/v2", Access::kReader, [](const http::Request&) -> Result<http::Response> {
                return http::json_response(
                    {{"name", "slipway"},
                     {"version", SLIPWAY_VERSION},
                     {"extensions", json::array{"binary_tensor_data", "statistics", "model_configuration",
                                                "model_repository"}}});
              }});
  router.add({Method::kGet, "/v2/health/live", Access::kPublic,
              [&served](const http::Request&) -> Result<http::Response> {
                return http::json_response(open_inference::health(served));
              }});
  router.add({Method::kGet, "/v2/health/ready", Access::kPublic,
              [&served](const http::Request&) -> Result<http::Response> {
                return http::json_response(open_inference::health(served), served.ready ? 200 : 503);
              }});
  router.add({Method::kPost, "/v2/repository/index", Access::kReader,
              [&served](const http::Request&) -> Result<http::Response> {
                return http::json_response(open_inference::repository_index(served));
              }});
  // The model that is asked for is there; there is no other, and this one stays.
  router.add({Method::kPost, "/v2/repository/models/{model}/load", Access::kReader,
              [known](const http::Request& request) -> Result<http::Response> {
                const Status found = known(request);
                return found ? http::json_response(json::object()) : refuse(found.error());
              }});
  router.add({Method::kPost, "/v2/repository/models/{model}/unload", Access::kReader,
              [](const http::Request&) -> Result<http::Response> {
                return refuse({.code = ErrorCode::kUnsupported,
                               .message = "this server serves one model and does not unload it",
                               .next = "stop the server, or delete the service",
                               .detail = ""});
              }});
  for (const std::string base : {"/v2/models/{model}", "/v2/models/{model}/versions/{version}"}) {
    router.add({Method::kPost, base + "/infer", Access::kReader, infer_handler, body_limit});
    router.add({Method::kGet, base, Access::kReader, show(open_inference::metadata)});
    router.add({Method::kGet, base + "/config", Access::kReader, show(open_inference::config)});
    router.add({Method::kGet, base + "/stats", Access::kReader, show(open_inference::statistics)});
    router.add({Method::kGet, base + "/ready", Access::kReader,
                [&served, known](const http::Request& request) -> Result<http::Response> {
                  if (const Status found = known(request); !found) return refuse(found.error());
                  return http::json_response(open_inference::readiness(served), served.ready ? 200 : 503);
                }});
  }
}

}  // namespace slipway::serving

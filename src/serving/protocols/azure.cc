#include "serving/protocols/azure.h"

#include <fmt/format.h>

#include "base/random.h"
#include "serving/protocols/onnx_form.h"
#include "serving/protocols/raw_call.h"
#include "serving/protocols/row_form.h"
#include "serving/protocols/swagger.h"
#include "serving/protocols/tf_rest.h"

namespace slipway::serving {
namespace {

// {"data": rows, "method": "predict"}: the body of a scikit-learn service without code. The answer's one
// member is named after the method.
Result<Inference> read_data(const ServedModel& served, const std::string& body) {
  std::string method;
  if (body.contains("\"method\"")) {
    JsonReader reader(body);
    SLIPWAY_TRY(reader.object([&](const std::string& key) -> Status {
      if (key != "method") return reader.skip();
      SLIPWAY_ASSIGN(method, reader.string());
      return {};
    }));
  }
  Inference inference;
  const auto& signatures = served.model.signatures();
  if (method.empty())
    for (const Signature& signature : signatures)
      if (signature.name == "predict_proba") method = signature.name;
  SLIPWAY_ASSIGN(inference.signature, served.find_signature(method));
  const Signature& signature = signatures[inference.signature];
  InputSlots inputs(signature);
  JsonReader reader(body);
  SLIPWAY_TRY(reader.object([&](const std::string& key) -> Status {
    if (key != "data" && key != "input_data") return reader.skip();
    return read_rows(reader, signature, inputs, Nulls::kNan);
  }));
  SLIPWAY_TRY(reader.finish());
  SLIPWAY_ASSIGN(inference.inputs, inputs.take());
  inference.respond = [name = signature.name](const JobOutputs& outputs) {
    http::Response response;
    std::string answer = "{";
    append_json_text(answer, name);
    answer += ':';
    append_columns(answer, outputs.tensors);
    answer += '}';
    response.body = std::move(answer);
    return response;
  };
  return inference;
}

// The first member that tells the form of a body.
Result<std::string> telling_member(const std::string& body) {
  std::string telling;
  JsonReader reader(body);
  const Status read = reader.object([&](const std::string& key) -> Status {
    if (key == "instances" || key == "inputs" || key == "data" || key == "input_data") {
      telling = key;
      return reader.wrong("no more");
    }
    return reader.skip();
  });
  if (!telling.empty()) return telling;
  SLIPWAY_TRY(read);
  return fail(ErrorCode::kInvalidArgument, "the body has none of 'data', 'instances' and 'inputs'",
              "send {\"data\": [row, ...]}");
}

std::string request_id(const http::Request& request) {
  for (const char* name : {"x-ms-client-request-id", "x-request-id"})
    if (const auto given = request.headers.find(name); given != request.headers.end())
      if (given->second.size() <= 100) return given->second;
  return random_base32(16);
}

Result<Inference> read_with_headers(const ServedModel& served, const http::Request& request) {
  SLIPWAY_ASSIGN(Inference inference, read_score(served, request));
  inference.respond = [inner = std::move(inference.respond),
                       id = request_id(request)](const JobOutputs& outputs) {
    http::Response response = inner(outputs);
    response.headers["x-ms-run-fn-exec-ms"] = fmt::format("{:.3f}", outputs.compute_milliseconds);
    response.headers["x-request-id"] = id;
    return response;
  };
  return inference;
}

constexpr Protocol kProtocol{.read = read_with_headers, .refuse = azure_refusal};

}  // namespace

http::Response azure_refusal(const Error& error) {
  http::Response response = http::error_response(error);
  const std::string text =
      error.next.empty() ? error.message : fmt::format("{}; {}", error.message, error.next);
  response.body = json::serialize(json::object{{"message", text}});
  return response;
}

Result<Inference> read_score(const ServedModel& served, const http::Request& request) {
  SLIPWAY_ASSIGN(const std::string member, telling_member(request.body));
  if (member == "instances") return read_predict(served, request);
  if (member == "inputs")
    return is_onnx_form(request.body) ? read_onnx_form(served, request.body) : read_predict(served, request);
  return read_data(served, request.body);
}

void add_azure_routes(http::Router& router, ServedModel& served, uint64_t body_limit) {
  using http::Access;
  using http::Method;
  const auto score = [&served](http::Request& request, http::Turn& turn, http::Answer answer) {
    if (served.model.takes_raw()) return call_raw(served, azure_refusal, request, std::move(answer));
    infer(served, kProtocol, request, turn, std::move(answer));
  };
  router.add({Method::kPost, "/score", Access::kReader, score, body_limit});
  // For entry scripts with @rawhttp, which may take GET too.
  router.add({Method::kGet, "/score", Access::kReader,
              [&served, score](http::Request& request, http::Turn& turn, http::Answer answer) {
                if (served.model.takes_raw()) return score(request, turn, std::move(answer));
                http::Response refusal = azure_refusal({.code = ErrorCode::kUnsupported,
                                                        .message = "/score takes POST",
                                                        .next = "POST the input as JSON",
                                                        .detail = ""});
                refusal.status = 405;
                refusal.headers["Allow"] = "POST";
                answer(std::move(refusal));
              }});
  router.add({Method::kGet, "/", Access::kPublic, [&served](const http::Request&) -> Result<http::Response> {
                const bool ready = served.ready;
                return http::text_response(ready ? "Healthy" : "Unhealthy", ready ? 200 : 503);
              }});
  router.add({Method::kGet, "/swagger.json", Access::kReader,
              [&served](const http::Request&) -> Result<http::Response> {
                return http::json_response(swagger(served));
              }});
}

}  // namespace slipway::serving

#include "serving/protocols/tf_rest.h"

#include <fmt/format.h>

#include "serving/protocols/azure.h"
#include "serving/protocols/row_form.h"
#include "serving/protocols/tf_examples.h"
#include "serving/tf_types.h"

namespace slipway::serving {
namespace {

using http::Access;
using http::Method;

json::object metadata_of(const std::vector<TensorSpec>& specs) {
  json::object all;
  for (const TensorSpec& spec : specs) {
    json::array dimensions;
    if (spec.shape)
      for (const int64_t size : *spec.shape)
        dimensions.push_back(json::object{{"size", std::to_string(size)}, {"name", ""}});
    all[spec.name] = json::object{
        {"dtype", tf_name(spec.type)},
        {"tensor_shape", json::object{{"dim", std::move(dimensions)}, {"unknown_rank", !spec.shape}}},
        {"name", spec.name}};
  }
  return all;
}

json::object metadata(const ServedModel& served) {
  json::object signatures;
  for (const Signature& signature : served.model.signatures())
    signatures[signature.name] = json::object{{"inputs", metadata_of(signature.inputs)},
                                              {"outputs", metadata_of(signature.outputs)},
                                              {"method_name", signature.method}};
  return {
      {"model_spec",
       json::object{{"name", served.name}, {"signature_name", ""}, {"version", served.version}}},
      {"metadata", json::object{{"signature_def", json::object{{"signature_def", std::move(signatures)}}}}}};
}

json::object status(const ServedModel& served) {
  const bool ready = served.ready;
  return {{"model_version_status",
           json::array{json::object{{"version", served.version},
                                    {"state", ready ? "AVAILABLE" : "UNLOADING"},
                                    {"status", json::object{{"error_code", "OK"}, {"error_message", ""}}}}}}};
}

// "digits:predict" as a path's last segment.
struct Verb {
  std::string_view subject;
  std::string_view verb;
};

Verb split_verb(std::string_view segment) {
  const size_t colon = segment.rfind(':');
  if (colon == std::string_view::npos) return {segment, ""};
  return {segment.substr(0, colon), segment.substr(colon + 1)};
}

// The value of "signature_name" wherever it stands in the body; mostly it stands nowhere.
Result<std::string> signature_name(const std::string& body) {
  std::string name;
  if (!body.contains("\"signature_name\"")) return name;
  JsonReader reader(body);
  SLIPWAY_TRY(reader.object([&](const std::string& key) -> Status {
    if (key != "signature_name") return reader.skip();
    SLIPWAY_ASSIGN(name, reader.string());
    return {};
  }));
  return name;
}

enum class Form { kNone, kRows, kColumns };

http::Response respond(Form form, const JobOutputs& outputs) {
  http::Response response;
  std::string body;
  if (form == Form::kRows) {
    if (!have_rows(outputs.tensors))
      return tf_refusal({.code = ErrorCode::kInvalidArgument,
                         .message = "the model's outputs are not by row, so the row form cannot carry them",
                         .next = "send the inputs in column form: {\"inputs\": ...}",
                         .detail = ""});
    append_predictions(body, outputs.tensors);
  } else {
    body += "{\"outputs\":";
    append_columns(body, outputs.tensors);
    body += '}';
  }
  response.body = std::move(body);
  return response;
}

}  // namespace

http::Response tf_refusal(const Error& error) {
  http::Response response = http::error_response(error);
  const std::string text =
      error.next.empty() ? error.message : fmt::format("{}; {}", error.message, error.next);
  response.body = json::serialize(json::object{{"error", text}});
  return response;
}

Result<Inference> read_predict(const ServedModel& served, const http::Request& request) {
  SLIPWAY_ASSIGN(const std::string named, signature_name(request.body));
  Inference inference;
  SLIPWAY_ASSIGN(inference.signature, served.find_signature(named));
  const Signature& signature = served.model.signatures()[inference.signature];
  InputSlots inputs(signature);
  Form form = Form::kNone;
  JsonReader reader(request.body);
  const auto once = [&](Form found) -> Status {
    if (std::exchange(form, found) == Form::kNone) return {};
    return fail(ErrorCode::kInvalidArgument,
                "the body has both 'instances' and 'inputs', or one of them twice", "send one of them");
  };
  SLIPWAY_TRY(reader.object([&](const std::string& key) -> Status {
    if (key == "instances") {
      SLIPWAY_TRY(once(Form::kRows));
      return read_rows(reader, signature, inputs);
    }
    if (key == "inputs") {
      SLIPWAY_TRY(once(Form::kColumns));
      return read_columns(reader, signature, inputs);
    }
    return reader.skip();
  }));
  SLIPWAY_TRY(reader.finish());
  if (form == Form::kNone)
    return fail(ErrorCode::kInvalidArgument, "the body has neither 'instances' nor 'inputs'",
                "send {\"instances\": [row, ...]} or {\"inputs\": tensor}");
  SLIPWAY_ASSIGN(inference.inputs, inputs.take());
  inference.respond = [form](const JobOutputs& outputs) { return respond(form, outputs); };
  return inference;
}

void add_tf_routes(http::Router& router, ServedModel& served, uint64_t body_limit) {
  static constexpr Protocol kPredict{.read = read_predict, .refuse = tf_refusal};
  static constexpr Protocol kClassify{.read = read_classify, .refuse = tf_refusal};
  static constexpr Protocol kRegress{.read = read_regress, .refuse = tf_refusal};
  static constexpr Protocol kScore{.read = read_score, .refuse = azure_refusal};
  const auto post = [&served](http::Request& request, http::Turn& turn, http::Answer answer) {
    const bool versioned = request.params.contains("version");
    const Verb last = split_verb(request.param(versioned ? "version" : "model"));
    const std::string_view model = versioned ? std::string_view(request.param("model")) : last.subject;
    // Azure's services for ONNX models are called this, whatever their model is.
    if (model == "default" && versioned && last.subject == "1" && last.verb == "predict")
      return infer(served, kScore, request, turn, std::move(answer));
    if (const Status known = served.check(model, versioned ? last.subject : ""); !known)
      return answer(tf_refusal(known.error()));
    if (last.verb == "predict") return infer(served, kPredict, request, turn, std::move(answer));
    if (last.verb == "classify") return infer(served, kClassify, request, turn, std::move(answer));
    if (last.verb == "regress") return infer(served, kRegress, request, turn, std::move(answer));
    answer(tf_refusal({.code = ErrorCode::kInvalidArgument,
                       .message = fmt::format("there is no call ':{}'", last.verb),
                       .next = "there are :predict, :classify and :regress",
                       .detail = ""}));
  };
  const auto get = [&served](json::object (*show)(const ServedModel&)) {
    return [&served, show](const http::Request& request) -> Result<http::Response> {
      const auto version = request.params.find("version");
      const Status known =
          served.check(request.param("model"), version == request.params.end() ? "" : version->second);
      return known ? http::json_response(show(served)) : tf_refusal(known.error());
    };
  };
  router.add({Method::kPost, "/v1/models/{model}", Access::kReader, post, body_limit});
  router.add({Method::kPost, "/v1/models/{model}/versions/{version}", Access::kReader, post, body_limit});
  router.add({Method::kGet, "/v1/models/{model}", Access::kReader, get(status)});
  router.add({Method::kGet, "/v1/models/{model}/versions/{version}", Access::kReader, get(status)});
  router.add({Method::kGet, "/v1/models/{model}/metadata", Access::kReader, get(metadata)});
  router.add(
      {Method::kGet, "/v1/models/{model}/versions/{version}/metadata", Access::kReader, get(metadata)});
  const auto labelled = [](const http::Request& request) -> Result<http::Response> {
    const Verb last = split_verb(request.param("label"));
    return tf_refusal({.code = ErrorCode::kNotFound,
                       .message = fmt::format("the model has no version labelled '{}' here", last.subject),
                       .next = "name the version by its number, or leave it out",
                       .detail = ""});
  };
  router.add({Method::kPost, "/v1/models/{model}/labels/{label}", Access::kReader, labelled});
  router.add({Method::kGet, "/v1/models/{model}/labels/{label}", Access::kReader, labelled});
  router.add({Method::kGet, "/v1/models/{model}/labels/{label}/metadata", Access::kReader, labelled});
  const auto unknown = [](const http::Request&) -> Result<http::Response> {
    return tf_refusal({.code = ErrorCode::kInvalidArgument,
                       .message = "the request is malformed: there is no such path below /v1",
                       .next = "",
                       .detail = ""});
  };
  router.add({Method::kGet, "/v1/{path...}", Access::kReader, unknown});
  router.add({Method::kPost, "/v1/{path...}", Access::kReader, unknown});
}

}  // namespace slipway::serving

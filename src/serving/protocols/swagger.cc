#include "serving/protocols/swagger.h"

namespace slipway::serving {
namespace {

json::object type_of(DataType type) {
  if (type == DataType::kBytes) return {{"type", "string"}};
  if (type == DataType::kBool) return {{"type", "boolean"}};
  if (type == DataType::kFp64) return {{"type", "number"}, {"format", "double"}};
  if (is_floating(type)) return {{"type", "number"}, {"format", "float"}};
  return {{"type", "integer"}, {"format", size_of(type) == 8 ? "int64" : "int32"}};
}

// Lists in lists, as deep as the tensor has dimensions.
json::object schema_of(const TensorSpec& spec) {
  json::object schema = type_of(spec.type);
  for (size_t i = 0; spec.shape && i < spec.shape->size(); ++i)
    schema = json::object{{"type", "array"}, {"items", std::move(schema)}};
  return schema;
}

json::object schema_of(const std::vector<TensorSpec>& specs) {
  if (specs.size() == 1) return schema_of(specs.front());
  json::object members;
  for (const TensorSpec& spec : specs) members[spec.name] = schema_of(spec);
  return {{"type", "object"}, {"properties", std::move(members)}};
}

json::value parsed_or(const std::string& text, json::value otherwise) {
  if (text.empty()) return otherwise;
  auto parsed = parse_json(text, "the schema");
  return parsed ? std::move(*parsed) : std::move(otherwise);
}

json::object operation(std::string_view id, std::string_view about, json::object success) {
  json::object failure{{"description", "If the request does not fit, or the model fails"},
                       {"schema", json::object{{"$ref", "#/definitions/ErrorResponse"}}}};
  return {{"operationId", id},
          {"description", about},
          {"responses", json::object{{"200", std::move(success)}, {"default", std::move(failure)}}}};
}

}  // namespace

json::object swagger(const ServedModel& served) {
  json::object input{{"type", "object"}, {"example", json::object()}};
  json::object output{{"type", "object"}};
  if (!served.model.signatures().empty()) {
    const Signature& signature = served.model.signatures().front();
    input = {{"type", "object"}, {"properties", json::object{{"data", schema_of(signature.inputs)}}}};
    output = {{"type", "object"},
              {"properties", json::object{{signature.name, schema_of(signature.outputs)}}}};
  }
  json::object score = operation(
      "RunMLService", "Run the model and get its prediction",
      {{"description", "The prediction"}, {"schema", json::object{{"$ref", "#/definitions/ServiceOutput"}}}});
  score["parameters"] =
      json::array{json::object{{"name", "serviceInputPayload"},
                               {"in", "body"},
                               {"description", "The input of the model"},
                               {"schema", json::object{{"$ref", "#/definitions/ServiceInput"}}}}};
  score["consumes"] = json::array{"application/json"};
  score["produces"] = json::array{"application/json"};
  const json::object text{{"description", "As it says"}, {"schema", json::object{{"type", "string"}}}};
  const json::object document{{"description", "This document"}, {"schema", json::object{{"type", "object"}}}};
  return {
      {"swagger", "2.0"},
      {"info",
       json::object{{"title", served.name}, {"version", served.version}, {"description", "A model service"}}},
      {"schemes", json::array{"http", "https"}},
      {"securityDefinitions",
       json::object{
           {"Bearer", json::object{{"type", "apiKey"}, {"name", "Authorization"}, {"in", "header"}}}}},
      {"paths",
       json::object{
           {"/", json::object{{"get", operation("ServiceHealthCheck", "Whether the service answers", text)}}},
           {"/score", json::object{{"post", std::move(score)}}},
           {"/swagger.json", json::object{{"get", operation("GetSwaggerSpec", "This document", document)}}}}},
      {"definitions",
       json::object{
           {"ServiceInput", parsed_or(served.model.input_schema(), std::move(input))},
           {"ServiceOutput", parsed_or(served.model.output_schema(), std::move(output))},
           {"ErrorResponse",
            json::object{{"type", "object"},
                         {"properties", json::object{{"message", json::object{{"type", "string"}}}}}}}}}};
}

}  // namespace slipway::serving

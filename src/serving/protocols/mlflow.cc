#include "serving/protocols/mlflow.h"

#include <fmt/format.h>

#include "serving/protocols/csv.h"
#include "serving/protocols/row_form.h"

namespace slipway::serving {
namespace {

std::string_view error_code_name(const Error& error) {
  switch (http_status(error.code)) {
    case 400: return "BAD_REQUEST";
    case 404: return "RESOURCE_DOES_NOT_EXIST";
    case 413: return "BAD_REQUEST";
    case 429: return "REQUEST_LIMIT_EXCEEDED";
    case 503: return "TEMPORARILY_UNAVAILABLE";
    default: return "INTERNAL_ERROR";
  }
}

http::Response refuse(const Error& error) {
  http::Response response = http::error_response(error);
  const std::string text =
      error.next.empty() ? error.message : fmt::format("{}; {}", error.message, error.next);
  response.body = json::serialize(json::object{{"error_code", error_code_name(error)}, {"message", text}});
  return response;
}

// {"columns": [...], "index": [...], "data": [[...], ...]}. With one input the columns are its row; with
// several each column is an input.
class Split {
 public:
  Split(JsonReader& reader, const Signature& signature, InputSlots& inputs)
      : reader_(reader), signature_(signature), inputs_(inputs) {}

  Status read() {
    const char* data = nullptr;
    SLIPWAY_TRY(reader_.object([&](const std::string& key) -> Status {
      if (key == "columns") return read_columns_names();
      if (key == "data") {
        reader_.peek();
        data = reader_.position();
      }
      return reader_.skip();
    }));
    if (data == nullptr) return fail(ErrorCode::kInvalidArgument, "'dataframe_split' has no 'data'");
    const char* const behind = reader_.position();
    reader_.rewind(data);
    SLIPWAY_TRY(signature_.inputs.size() == 1 ? read_rows(reader_, signature_, inputs_, Nulls::kNan)
                                              : by_column());
    reader_.rewind(behind);
    return {};
  }

 private:
  Status read_columns_names() {
    return reader_.array([&]() -> Status {
      if (reader_.peek() != '"') {
        columns_.push_back(columns_.size());
        return reader_.skip();
      }
      SLIPWAY_ASSIGN(const std::string name, reader_.string());
      const auto index = inputs_.find(name);
      if (!index && signature_.inputs.size() > 1) return fail(index.error());
      columns_.push_back(index ? *index : columns_.size());
      return {};
    });
  }

  Status by_column() {
    std::vector<std::vector<Tensor>> values(signature_.inputs.size());
    SLIPWAY_TRY(reader_.array([&]() -> Status {
      size_t column = 0;
      return reader_.array([&]() -> Status {
        if (column >= columns_.size() || columns_[column] >= values.size())
          return fail(ErrorCode::kInvalidArgument, "a row of 'data' has more values than there are columns");
        const size_t input = columns_[column++];
        SLIPWAY_ASSIGN(Tensor value, read_tensor(reader_, signature_.inputs[input].type, Nulls::kNan));
        values[input].push_back(std::move(value));
        return {};
      });
    }));
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].empty()) continue;  // said by InputSlots::take
      SLIPWAY_ASSIGN(Tensor whole, stack(std::move(values[i]), signature_.inputs[i].name));
      SLIPWAY_TRY(inputs_.put(i, std::move(whole)));
    }
    return {};
  }

  JsonReader& reader_;
  const Signature& signature_;
  InputSlots& inputs_;
  std::vector<size_t> columns_;  // which input each column is
};

// [{"a": 1, "b": 2}, ...]. With one input the members of an object, in their order, are its row.
Status read_records(JsonReader& reader, const Signature& signature, InputSlots& inputs) {
  if (signature.inputs.size() > 1) return read_rows(reader, signature, inputs, Nulls::kNan);
  std::vector<Tensor> rows;
  std::vector<std::string> order;
  SLIPWAY_TRY(reader.array([&]() -> Status {
    std::vector<Tensor> row;
    SLIPWAY_TRY(reader.object([&](const std::string& key) -> Status {
      if (rows.empty()) order.push_back(key);
      if (row.size() >= order.size() || order[row.size()] != key)
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("record {} has '{}' where the first has another column", rows.size(), key),
                    "give the columns in the same order in each record");
      SLIPWAY_ASSIGN(Tensor value, read_tensor(reader, signature.inputs.front().type, Nulls::kNan));
      row.push_back(std::move(value));
      return {};
    }));
    if (row.empty()) return fail(ErrorCode::kInvalidArgument, "a record is empty");
    SLIPWAY_ASSIGN(Tensor whole, stack(std::move(row), signature.inputs.front().name));
    rows.push_back(std::move(whole));
    return {};
  }));
  if (rows.empty()) return fail(ErrorCode::kInvalidArgument, "the list of records is empty");
  SLIPWAY_ASSIGN(Tensor whole, stack(std::move(rows), signature.inputs.front().name));
  return inputs.put(0, std::move(whole));
}

http::Response respond(const JobOutputs& outputs) {
  http::Response response;
  std::string body = "{\"predictions\":";
  append_columns(body, outputs.tensors);
  body += '}';
  response.body = std::move(body);
  return response;
}

Result<Inference> read_table(const ServedModel& served, const std::string& body) {
  Inference inference;
  const Signature& signature = served.model.signatures().front();
  SLIPWAY_ASSIGN(const std::string split, csv_to_split(body, signature));
  InputSlots inputs(signature);
  JsonReader reader(split);
  SLIPWAY_TRY(Split(reader, signature, inputs).read());
  SLIPWAY_ASSIGN(inference.inputs, inputs.take());
  inference.respond = respond;
  return inference;
}

Result<Inference> read_invocation(const ServedModel& served, const http::Request& request) {
  const auto type = request.headers.find("content-type");
  if (type != request.headers.end() && type->second.starts_with("text/csv"))
    return read_table(served, request.body);
  if (type != request.headers.end() && !type->second.starts_with("application/json"))
    return fail(ErrorCode::kInvalidArgument, fmt::format("/invocations does not take {}", type->second),
                "send JSON with the header Content-Type: application/json, or a table with text/csv");
  Inference inference;
  const Signature& signature = served.model.signatures().front();
  InputSlots inputs(signature);
  JsonReader reader(request.body);
  int forms = 0;
  SLIPWAY_TRY(reader.object([&](const std::string& key) -> Status {
    const bool form =
        key == "dataframe_split" || key == "dataframe_records" || key == "instances" || key == "inputs";
    if (form && ++forms > 1)
      return fail(ErrorCode::kInvalidArgument, "the body gives its input in more than one form",
                  "give one of them");
    if (key == "dataframe_split") return Split(reader, signature, inputs).read();
    if (key == "dataframe_records") return read_records(reader, signature, inputs);
    if (key == "instances") return read_rows(reader, signature, inputs, Nulls::kNan);
    if (key == "inputs") return read_columns(reader, signature, inputs);
    return reader.skip();
  }));
  SLIPWAY_TRY(reader.finish());
  if (forms == 0)
    return fail(ErrorCode::kInvalidArgument, "the body has no input",
                "send one of dataframe_split, dataframe_records, instances, inputs");
  SLIPWAY_ASSIGN(inference.inputs, inputs.take());
  inference.respond = respond;
  return inference;
}

}  // namespace

void add_mlflow_routes(http::Router& router, ServedModel& served, uint64_t body_limit) {
  using http::Access;
  using http::Method;
  static constexpr Protocol kProtocol{.read = read_invocation, .refuse = refuse};
  router.add({Method::kPost, "/invocations", Access::kReader,
              [&served](http::Request& request, http::Turn& turn, http::Answer answer) {
                infer(served, kProtocol, request, turn, std::move(answer));
              },
              body_limit});
  const auto health = [&served](const http::Request&) -> Result<http::Response> {
    return http::text_response("\n", served.ready ? 200 : 503);
  };
  router.add({Method::kGet, "/ping", Access::kPublic, health});
  router.add({Method::kGet, "/health", Access::kPublic, health});
  router.add({Method::kGet, "/version", Access::kPublic, [](const http::Request&) -> Result<http::Response> {
                return http::text_response(SLIPWAY_VERSION);
              }});
}

}  // namespace slipway::serving

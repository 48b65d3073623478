#include "base/json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/json_document.h"
#include "base/utf8.h"

namespace slipway {

Result<json::value> parse_json(std::string_view text, std::string_view what) {
  boost::system::error_code error;
  json::value value = parse_document(text, kMaxJsonDepth, error);
  if (error == json::error::too_deep)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is nested deeper than {} levels", what, kMaxJsonDepth));
  if (error)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not valid JSON: {}", what, error.message()));
  return value;
}

Result<json::object> parse_json_object(std::string_view text, std::string_view what) {
  SLIPWAY_ASSIGN(json::value value, parse_json(text, what));
  if (!value.is_object())
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} must be a JSON object", what));
  return std::move(value.as_object());
}

Status JsonFields::finish() {
  if (!error_) {
    for (const auto& field : object_) {
      if (known_.contains(std::string(field.key()))) continue;
      const std::string_view name = std::string_view(field.key()).substr(0, 64);
      return fail(ErrorCode::kInvalidArgument, fmt::format("{} has an unknown field '{}'", what_, name),
                  fmt::format("known fields: {}", fmt::join(known_, ", ")));
    }
  }
  return finish_lenient();
}

Status JsonFields::finish_lenient() {
  if (error_) return fail(*error_);
  return {};
}

void JsonFields::wrong(std::string_view name, std::string_view expected) {
  if (error_) return;
  error_ = Error{.code = ErrorCode::kInvalidArgument,
                 .message = fmt::format("{}: field '{}' must be {}", what_, name, expected),
                 .next = "",
                 .detail = ""};
}

Error JsonFields::missing(std::string_view name) const {
  return Error{.code = ErrorCode::kInvalidArgument,
               .message = fmt::format("{} lacks the field '{}'", what_, name),
               .next = "",
               .detail = ""};
}

void JsonFields::read(std::string_view name, const json::value& value, bool& target) {
  if (value.is_bool()) {
    target = value.get_bool();
  } else {
    wrong(name, "true or false");
  }
}

void JsonFields::read(std::string_view name, const json::value& value, int& target) {
  int64_t wide = 0;
  read(name, value, wide);
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    wrong(name, "a smaller whole number");
  } else {
    target = static_cast<int>(wide);
  }
}

void JsonFields::read(std::string_view name, const json::value& value, int64_t& target) {
  if (value.is_int64()) {
    target = value.get_int64();
  } else {
    wrong(name, "a whole number");
  }
}

void JsonFields::read(std::string_view name, const json::value& value, uint64_t& target) {
  if (value.is_uint64()) {
    target = value.get_uint64();
  } else if (value.is_int64() && value.get_int64() >= 0) {
    target = static_cast<uint64_t>(value.get_int64());
  } else {
    wrong(name, "a whole number of at least 0");
  }
}

void JsonFields::read(std::string_view name, const json::value& value, double& target) {
  if (value.is_number()) {
    target = value.to_number<double>();
  } else {
    wrong(name, "a number");
  }
}

void JsonFields::read(std::string_view name, const json::value& value, std::string& target) {
  if (value.is_string()) {
    target = std::string(value.get_string());
  } else {
    wrong(name, "a string");
  }
}

void JsonFields::read(std::string_view name, const json::value& value, Timestamp& target) {
  read(name, value, target.micros);
}

void JsonFields::read(std::string_view name, const json::value& value, json::object& target) {
  if (value.is_object()) {
    target = value.get_object();
  } else {
    wrong(name, "an object");
  }
}

void JsonFields::read(std::string_view name, const json::value& value, json::array& target) {
  if (value.is_array()) {
    target = value.get_array();
  } else {
    wrong(name, "a list");
  }
}

void JsonFields::read(std::string_view name, const json::value& value, std::vector<std::string>& target) {
  if (!value.is_array()) return wrong(name, "a list of strings");
  std::vector<std::string> list;
  for (const json::value& item : value.get_array()) {
    if (!item.is_string()) return wrong(name, "a list of strings");
    list.emplace_back(item.get_string());
  }
  target = std::move(list);
}

void JsonFields::read(std::string_view name, const json::value& value,
                      std::map<std::string, std::string>& target) {
  if (!value.is_object()) return wrong(name, "an object of strings");
  std::map<std::string, std::string> map;
  for (const auto& field : value.get_object()) {
    if (!field.value().is_string()) return wrong(name, "an object of strings");
    map.emplace(field.key(), field.value().get_string());
  }
  target = std::move(map);
}

json::object to_json(const std::map<std::string, std::string>& map) {
  json::object object;
  for (const auto& [key, value] : map) object.emplace(key, value);
  return object;
}

json::array to_json(const std::vector<std::string>& list) {
  json::array array;
  for (const std::string& item : list) array.emplace_back(item);
  return array;
}

json::value json_number(double number) {
  constexpr double kExact = 9e15;  // below 2^53 every whole double is the same integer
  if (number == std::trunc(number) && std::abs(number) < kExact) return static_cast<int64_t>(number);
  return number;
}

json::object to_json(const Error& error) {
  json::object inner{{"code", error_name(error.code)}, {"message", to_valid_utf8(error.message)}};
  if (!error.next.empty()) inner.emplace("next", to_valid_utf8(error.next));
  return {{"error", std::move(inner)}};
}

Error error_from_json(std::string_view body, int http_status) {
  Error error{.code = error_code_from_status(http_status),
              .message = fmt::format("the server answered {}", http_status),
              .next = "",
              .detail = ""};
  const auto document = parse_json_object(body, "the answer");
  if (!document) return error;
  const json::value* inner = document->if_contains("error");
  if (inner == nullptr || !inner->is_object()) return error;
  std::string code(error_name(error.code));
  JsonFields fields(inner->get_object(), "the error");
  fields.optional("code", code);
  fields.optional("message", error.message);
  fields.optional("next", error.next);
  error.code = error_code_from_name(code);
  return error;
}

}  // namespace slipway

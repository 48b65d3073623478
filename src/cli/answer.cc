#include "cli/answer.h"

#include <fmt/format.h>

#include <limits>

#include "cli/quantities.h"

namespace slipway::cli {
namespace {

const json::object kNoObject;
const json::array kNoArray;

}  // namespace

std::string text_at(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

int64_t integer_at(const json::object& object, std::string_view name, int64_t fallback) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return fallback;
  if (value->is_int64()) return value->get_int64();
  if (value->is_uint64()) return std::numeric_limits<int64_t>::max();  // beyond int64
  return fallback;
}

std::optional<double> number_at(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->to_number<double>();
  const std::string text = text_at(object, name);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return kInfinity;
  if (text == "-Infinity") return -kInfinity;
  return std::nullopt;
}

bool flag_at(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::optional<Timestamp> time_at(const json::object& object, std::string_view name) {
  return parse_iso8601(text_at(object, name));
}

const json::object& object_at(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_object() ? value->get_object() : kNoObject;
}

const json::array& array_at(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_array() ? value->get_array() : kNoArray;
}

std::vector<std::string> texts_at(const json::object& object, std::string_view name) {
  const json::array& items = array_at(object, name);
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const json::value& item : items) texts.push_back(value_text(item));
  return texts;
}

bool has_value(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && !value->is_null();
}

std::string value_text(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_null()) return "-";
  if (value.is_double()) return metric_text(value.get_double());
  if (!value.is_object()) return json::serialize(value);
  std::string text;
  for (const auto& field : value.get_object()) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{}={}", std::string_view(field.key()), value_text(field.value()));
  }
  return text.empty() ? "-" : text;
}

std::string metric_text(std::optional<double> value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

}  // namespace slipway::cli

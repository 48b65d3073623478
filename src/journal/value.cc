#include "journal/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/file.h"

namespace slipway::journal {
namespace {

constexpr size_t kMaxColumns = 1000;
constexpr std::string_view kNumber = "number";

std::unexpected<Error> refuse(std::string message, std::string next = "") {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(next));
}

bool is_cell(const json::value& value) {
  if (const json::object* object = value.if_object())
    return object->size() == 1 && object->begin()->key() == kNumber && object->begin()->value().is_string() &&
           number_from_json(object->begin()->value());
  return !value.is_array();
}

Status check_columns(const json::value& value, ValueKind kind) {
  const json::object* columns = value.if_object();
  if (columns == nullptr || columns->empty() || columns->size() > kMaxColumns)
    return refuse(fmt::format("a {} is an object of 1 to {} columns", to_text(kind), kMaxColumns));
  for (const auto& column : *columns) {
    const json::array* list = column.value().if_array();
    const bool good = kind == ValueKind::kRow ? is_cell(column.value())
                                              : list != nullptr && std::ranges::all_of(*list, is_cell);
    if (!good)
      return refuse(fmt::format("the column '{}' of a {} holds {}",
                                std::string_view(column.key()).substr(0, 64), to_text(kind),
                                kind == ValueKind::kRow ? "no single value" : "no list of single values"),
                    "a single value is a number, a text, true, false or null");
  }
  return {};
}

Status check_image(const json::value& value) {
  const json::object* image = value.if_object();
  const json::value* path = image == nullptr ? nullptr : image->if_contains("path");
  if (path == nullptr || image->size() != 1 || !path->is_string() ||
      !is_clean_relative_path(std::string_view(path->get_string())))
    return refuse(R"(the value of an image is {"path": "outputs/plot.png"}, a file of the run)");
  return {};
}

Status check_value(const json::value& value, ValueKind kind) {
  switch (kind) {
    case ValueKind::kString:
      if (!value.is_string()) return refuse("the value of kind string is a text");
      return {};
    case ValueKind::kRow:
    case ValueKind::kTable: return check_columns(value, kind);
    case ValueKind::kImage: return check_image(value);
    case ValueKind::kConfusionMatrix:
    case ValueKind::kAccuracyTable:
    case ValueKind::kResiduals:
    case ValueKind::kPredictions:
      if (!value.is_object()) return refuse(fmt::format("the value of kind {} is an object", to_text(kind)));
      return {};
  }
  return {};
}

std::string kinds_text() {
  std::string text(kNumber);
  for (const ValueKind kind : kAllValueKinds) text += fmt::format(", {}", to_text(kind));
  return text;
}

json::object to_json(const LoggedValue& value) {
  // The document was checked when it came in.
  const auto document = parse_json(value.document, "a logged value");
  return {{"name", value.name},
          {"kind", to_text(value.kind)},
          {"step", value.step},
          {"time", value.time.micros},
          {"value", document ? *document : json::value(nullptr)}};
}

}  // namespace

std::string_view to_text(ValueKind kind) {
  switch (kind) {
    case ValueKind::kString: return "string";
    case ValueKind::kRow: return "row";
    case ValueKind::kTable: return "table";
    case ValueKind::kImage: return "image";
    case ValueKind::kConfusionMatrix: return "confusion_matrix";
    case ValueKind::kAccuracyTable: return "accuracy_table";
    case ValueKind::kResiduals: return "residuals";
    case ValueKind::kPredictions: return "predictions";
  }
  return "";
}

std::optional<ValueKind> value_kind_from_text(std::string_view text) {
  for (const ValueKind kind : kAllValueKinds)
    if (to_text(kind) == text) return kind;
  return std::nullopt;
}

std::optional<double> number_from_json(const json::value& value) {
  if (value.is_number()) return value.to_number<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string_view text = value.get_string();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

Result<Entry> entry_from_json(const json::value& value, Timestamp now) {
  if (!value.is_object()) return refuse("a point is an object");
  const json::object& object = value.get_object();
  std::string name;
  std::string kind_text(kNumber);
  int64_t step = 0;
  Timestamp time = now;
  JsonFields fields(object, "a point");
  fields.required("name", name);
  fields.optional("kind", kind_text);
  fields.optional("step", step);
  fields.optional("time", time);
  fields.ignore("value");
  SLIPWAY_TRY(fields.finish());
  if (name.empty() || name.size() > kMaxMetricName || name.find('\0') != std::string::npos)
    return refuse(fmt::format("a metric's name must have 1 to {} bytes", kMaxMetricName));
  const json::value* content = object.if_contains("value");
  if (content == nullptr) return refuse("a point lacks the field 'value'");
  if (kind_text == kNumber) {
    const auto number = number_from_json(*content);
    if (!number)
      return refuse(R"(a metric's value is a number, "NaN", "Infinity" or "-Infinity")",
                    "for other values name their kind: " + kinds_text());
    return MetricPoint{.name = std::move(name), .step = step, .time = time, .value = *number};
  }
  const auto kind = value_kind_from_text(kind_text);
  if (!kind)
    return refuse(fmt::format("'{}' is no kind of value", kind_text.substr(0, 64)),
                  "the kinds are " + kinds_text());
  SLIPWAY_TRY(check_value(*content, *kind));
  LoggedValue logged{.name = std::move(name),
                     .kind = *kind,
                     .step = step,
                     .time = time,
                     .document = json::serialize(*content)};
  if (logged.document.size() > kMaxValueText)
    return fail(ErrorCode::kTooLarge, fmt::format("a logged value has more than {} MiB", kMaxValueText >> 20),
                "keep it as a file of the run instead");
  return logged;
}

std::string encode_values(const std::vector<LoggedValue>& values) {
  json::array entries;
  for (const LoggedValue& value : values) entries.push_back(to_json(value));
  return json::serialize(entries);
}

Result<std::vector<LoggedValue>> parse_values(std::string_view payload) {
  SLIPWAY_ASSIGN(const json::value document, parse_json(payload, "a values record"));
  if (!document.is_array()) return refuse("a values record is no list");
  std::vector<LoggedValue> values;
  for (const json::value& item : document.get_array()) {
    SLIPWAY_ASSIGN(Entry entry, entry_from_json(item, {}));
    if (auto* value = std::get_if<LoggedValue>(&entry)) values.push_back(std::move(*value));
  }
  return values;
}

}  // namespace slipway::journal

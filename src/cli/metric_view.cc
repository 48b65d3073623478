#include "cli/metric_view.h"

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/quantities.h"

namespace slipway::cli {
namespace {

constexpr size_t kLongestText = 200;

// {"number": "NaN"} is a number that JSON cannot say.
std::string cell_text(const json::value& cell) {
  if (const json::object* special = cell.if_object()) return text_at(*special, "number");
  return value_text(cell);
}

std::string row_text(const json::object& row) {
  std::string text;
  for (const auto& cell : row)
    text += fmt::format("{}{}={}", text.empty() ? "" : "  ", std::string_view(cell.key()),
                        cell_text(cell.value()));
  return text;
}

std::string table_text(const json::object& table) {
  std::string text = fmt::format("{} {}:", table.size(), table.size() == 1 ? "column" : "columns");
  for (const auto& column : table)
    text += fmt::format("{} {} ({})", text.ends_with(':') ? "" : ",", std::string_view(column.key()),
                        column.value().is_array() ? column.value().get_array().size() : 0);
  return text;
}

}  // namespace

std::string logged_value_text(const json::object& item) {
  std::string kind = text_at(item, "kind");
  if (kind.empty()) return metric_text(number_at(item, "value"));
  if (kind == "string") return printable(text_at(item, "value"), kLongestText);
  const json::object& value = object_at(item, "value");
  if (kind == "row") return printable(row_text(value), kLongestText);
  if (kind == "table") return printable(table_text(value), kLongestText);
  if (kind == "image") return printable("image " + text_at(value, "path"), kLongestText);
  return kind;
}

std::vector<json::object> in_order_of_logging(const json::array& points, const json::array& values) {
  std::vector<json::object> merged;
  merged.reserve(points.size() + values.size());
  size_t taken = 0;
  const auto take_points = [&](size_t until) {
    for (; taken < std::min(until, points.size()); ++taken) merged.push_back(points[taken].as_object());
  };
  for (const json::value& value : values) {
    take_points(static_cast<size_t>(integer_at(value.as_object(), "points_before")));
    merged.push_back(value.as_object());
  }
  take_points(points.size());
  return merged;
}

}  // namespace slipway::cli

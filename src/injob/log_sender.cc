#include "injob/log_sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/json.h"
#include "injob/message.h"
#include "injob/slipway_log.h"

namespace slipway::injob {
namespace {

// The message is read here as the supervisor will read it, so that a mistake is told to the one who made it.
Status check_and_send(const std::string& message) {
  Message unused;
  SLIPWAY_TRY(parse_message(message, {}, unused));
  if (std::getenv("SLIPWAY_SOCKET") == nullptr)
    return fail(ErrorCode::kUnavailable, "this is not inside a run: SLIPWAY_SOCKET is not set",
                "call it from a script started with slipway submit");
  if (!log_detail::send_message(message))
    return fail(ErrorCode::kTimeout, "the run's supervisor did not take the message",
                "the run may have ended; slipway run show tells");
  return {};
}

Status send_pair(std::string_view field, std::string_view name, std::string_view value) {
  return check_and_send(json::serialize(json::object{{field, json::object{{name, value}}}}));
}

Status send_value(std::string_view name, std::string_view kind, json::value value, int64_t step) {
  json::object entry{{"name", name}, {"kind", kind}, {"value", std::move(value)}, {"step", step}};
  return check_and_send(json::serialize(json::object{{"values", json::array{std::move(entry)}}}));
}

// A number as from_chars reads it, nan and inf included, nullopt for any other text.
std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(text).c_str(), nullptr);
  return value;
}

json::value cell_of(const std::string& text) {
  const auto number = number_of(text);
  if (!number) return json::string(text);
  if (std::isfinite(*number)) return json_number(*number);
  return json::object{{"number", std::isnan(*number) ? "NaN" : *number > 0 ? "Infinity" : "-Infinity"}};
}

}  // namespace

Status send_metrics(const std::vector<std::pair<std::string, double>>& metrics, int64_t step) {
  std::string message = "{\"metrics\":{";
  for (const auto& [name, value] : metrics) {
    if (message.back() != '{') message += ',';
    log_detail::append_text(message, name);
    message += ':';
    log_detail::append_number(message, value);
  }
  message += fmt::format("}},\"step\":{}}}", step);
  return check_and_send(message);
}

Status send_tag(std::string_view name, std::string_view value) {
  return send_pair("tags", name, value);
}

Status send_property(std::string_view name, std::string_view value) {
  return send_pair("properties", name, value);
}

Status send_string(std::string_view name, std::string_view text, int64_t step) {
  return send_value(name, "string", json::string(text), step);
}

Status send_row(std::string_view name, const std::vector<std::pair<std::string, std::string>>& cells,
                int64_t step) {
  json::object row;
  for (const auto& [column, text] : cells) row[column] = cell_of(text);
  return send_value(name, "row", std::move(row), step);
}

Status send_file(std::string_view path) {
  std::string message = "{\"file\":";
  log_detail::append_text(message, path);
  return check_and_send(message + "}");
}

Status send_image(std::string_view name, std::string_view path, int64_t step) {
  std::string message = "{\"image\":{\"name\":";
  log_detail::append_text(message, name);
  message += ",\"path\":";
  log_detail::append_text(message, path);
  message += fmt::format(",\"step\":{}}}}}", step);
  return check_and_send(message);
}

Result<std::pair<std::string, double>> parse_metric_argument(std::string_view text) {
  const size_t equals = text.rfind('=');
  const auto bad = [&] {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a metric", text.substr(0, 64)),
                "write a name and a number: loss=0.12");
  };
  if (equals == std::string_view::npos || equals == 0) return bad();
  const auto value = number_of(text.substr(equals + 1));
  if (!value) return bad();
  return std::pair(std::string(text.substr(0, equals)), *value);
}

Result<RowArgument> parse_row_argument(std::string_view text) {
  const auto bad = [whole = text] {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a row", whole.substr(0, 64)),
                "write a name and its columns: epoch=loss:0.12,phase:train");
  };
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return bad();
  RowArgument row{.name = std::string(text.substr(0, equals)), .cells = {}};
  text.remove_prefix(equals + 1);
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view cell = text.substr(0, comma);
    const size_t colon = cell.find(':');
    if (colon == std::string_view::npos || colon == 0) return bad();
    row.cells.emplace_back(cell.substr(0, colon), cell.substr(colon + 1));
    if (comma == text.size()) return row;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace slipway::injob

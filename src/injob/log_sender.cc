#include "injob/log_sender.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

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
  std::string message = "{\"tags\":{";
  log_detail::append_text(message, name);
  message += ':';
  log_detail::append_text(message, value);
  return check_and_send(message + "}}");
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
  std::string_view number = text.substr(equals + 1);
  if (number.starts_with('+')) number.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (end != number.data() + number.size() || number.empty()) return bad();
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(number).c_str(), nullptr);
  return std::pair(std::string(text.substr(0, equals)), value);
}

}  // namespace slipway::injob

#include "metrics/metric_value.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "metrics/metric_store.h"

namespace slipway::metrics {
namespace {

constexpr size_t kNameLimit = 1024;

// The length of the UTF-8 character at the beginning, or 0 when there is none: cut off, overlong, a
// surrogate.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  if (byte(0) < 0x80) return 1;
  if (byte(0) >= 0xc2 && byte(0) <= 0xdf) return follows(1) ? 2 : 0;
  if ((byte(0) & 0xf0U) == 0xe0U) {
    const bool overlong = byte(0) == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = byte(0) == 0xed && byte(1) >= 0xa0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (byte(0) >= 0xf0 && byte(0) <= 0xf4) {
    const bool outside = (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) >= 0x90);
    return follows(1) && follows(2) && follows(3) && !outside ? 4 : 0;
  }
  return 0;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return character.size() == 2 && first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

}  // namespace

Status check_metric_name(std::string_view name) {
  if (name.empty()) return fail(ErrorCode::kInvalidArgument, "a metric's name is empty", "give it a name");
  if (name.size() > kNameLimit)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a metric's name has {} bytes; the limit is {}", name.size(), kNameLimit),
                "choose a shorter name");
  while (!name.empty()) {
    const size_t length = character_length(name);
    if (length == 0)
      return fail(ErrorCode::kInvalidArgument, "a metric's name is not UTF-8", "send names as UTF-8 text");
    if (is_control(name.substr(0, length)))
      return fail(ErrorCode::kInvalidArgument, "a metric's name holds a control character",
                  "use visible characters only");
    name.remove_prefix(length);
  }
  return {};
}

std::optional<std::string_view> special_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (value == 0 && std::signbit(value)) return "-0";
  return std::nullopt;
}

std::optional<double> special_value(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (text == "-0") return -0.0;
  return std::nullopt;
}

json::value value_to_json(double value) {
  if (std::isfinite(value)) return value;
  return json::value(*special_text(value));
}

Result<double> value_from_json(const json::value& value) {
  if (const auto number = journal::number_from_json(value)) return *number;
  return fail(ErrorCode::kInvalidArgument,
              R"(a metric's value is a number, "NaN", "Infinity" or "-Infinity")");
}

}  // namespace slipway::metrics

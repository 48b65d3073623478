#include "http/range.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace slipway::http {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Digits only; a number beyond 64 bits counts as the largest.
std::optional<uint64_t> parse_position(std::string_view text) {
  if (text.empty() || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : UINT64_MAX;
}

}  // namespace

ByteRange parse_range(std::string_view header, uint64_t size) {
  const ByteRange whole{ByteRange::Kind::kWhole, 0, size};
  const ByteRange unsatisfiable{ByteRange::Kind::kUnsatisfiable, 0, 0};
  constexpr std::string_view kUnit = "bytes=";
  if (!header.starts_with(kUnit)) return whole;
  const std::string_view range = trim(header.substr(kUnit.size()));
  const size_t dash = range.find('-');
  if (dash == std::string_view::npos || range.contains(',')) return whole;
  const std::string_view first_text = trim(range.substr(0, dash));
  const std::string_view last_text = trim(range.substr(dash + 1));

  if (first_text.empty()) {  // "-500": the last 500 bytes
    const auto count = parse_position(last_text);
    if (!count) return whole;
    if (*count == 0 || size == 0) return unsatisfiable;
    const uint64_t length = std::min(*count, size);
    return {ByteRange::Kind::kPart, size - length, length};
  }
  const auto first = parse_position(first_text);
  const auto last = last_text.empty() ? std::optional<uint64_t>(UINT64_MAX) : parse_position(last_text);
  if (!first || !last || *last < *first) return whole;
  if (*first >= size) return unsatisfiable;
  return {ByteRange::Kind::kPart, *first, std::min(*last, size - 1) - *first + 1};
}

}  // namespace slipway::http

#include "cli/quantities.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>

#include "base/utf8.h"
#include "cli/columns.h"

namespace slipway::cli {

std::string bytes_text(uint64_t bytes) {
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // 1023.95 would be shown as 1024.0 of the unit below.
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

Result<uint64_t> parse_bytes(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a size", printable(text, 32)),
                "write a number and a unit: 512MiB, 4GiB or 4G");
  };
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return bad();
  std::string unit(end, static_cast<size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) unit.erase(0, 1);
  std::ranges::transform(unit, unit.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  if (unit.ends_with("ib")) {
    unit.resize(unit.size() - 2);
  } else if (unit.ends_with('b')) {
    unit.pop_back();
  }
  constexpr std::string_view kPrefixes = "kmgtp";
  double scale = 1;
  if (unit.size() > 1) return bad();
  if (unit.size() == 1) {
    const size_t power = kPrefixes.find(unit.front());
    if (power == std::string_view::npos) return bad();
    scale = std::pow(1024.0, static_cast<double>(power + 1));
  }
  const double bytes = number * scale;
  if (bytes >= 9.2e18) return bad();
  return static_cast<uint64_t>(bytes);
}

Result<uint64_t> parse_memory(std::string_view text) {
  const bool bare = text.find_first_not_of("0123456789.") == std::string_view::npos;
  return parse_bytes(bare ? std::string(text) + "GiB" : std::string(text));
}

std::string relative_time(Timestamp time, Timestamp now) {
  const int64_t seconds = (now.micros - time.micros) / 1'000'000;
  const int64_t distance = seconds < 0 ? -seconds : seconds;
  std::string amount;
  if (distance < 5) return "just now";
  if (distance < 60) {
    amount = fmt::format("{} s", distance);
  } else if (distance < 3600) {
    amount = fmt::format("{} min", distance / 60);
  } else if (distance < 86400) {
    amount = fmt::format("{} h", distance / 3600);
  } else if (distance < 30 * 86400) {
    amount = fmt::format("{} d", distance / 86400);
  } else {
    return to_iso8601(time).substr(0, 10);
  }
  return seconds < 0 ? "in " + amount : amount + " ago";
}

namespace {

std::optional<int> digits(std::string_view text, size_t at, size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int value = 0;
  for (size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

}  // namespace

std::optional<Timestamp> parse_iso8601(std::string_view text) {
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const auto date = std::chrono::year(*year) / *month / *day;
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  int64_t micros =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::sys_days(date).time_since_epoch())
          .count();
  micros += (int64_t{*hour} * 3600 + *minute * 60 + *second) * 1'000'000;
  size_t at = 19;
  if (at < text.size() && text[at] == '.') {
    int64_t unit = 100'000;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10)
      micros += unit * (text[at] - '0');
  }
  const std::string_view zone = text.substr(at);
  if (zone != "Z" && zone != "+00:00") return std::nullopt;
  return Timestamp{micros};
}

std::string clock_time(Timestamp time, Timestamp now) {
  const auto local = [](Timestamp at) {
    const std::time_t seconds = static_cast<std::time_t>(at.micros / 1'000'000);
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    return parts;
  };
  const std::tm then = local(time), today = local(now);
  const bool same_day = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
  std::array<char, 32> buffer{};
  const size_t size =
      std::strftime(buffer.data(), buffer.size(), same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then);
  return std::string(buffer.data(), size);
}

std::string printable(std::string_view text, size_t max) {
  std::string out;
  size_t columns = 0;
  size_t end_of_cut = 0;  // where "…" goes should the text turn out too long
  for (size_t at = 0; at < text.size();) {
    const Utf8 next = decode_utf8(text.substr(at));
    const bool shown = next.valid && !is_control(next.code);
    const size_t width = shown ? columns_of(next.code) : 1;
    if (max > 0 && columns + width > max) {
      out.resize(end_of_cut);
      return out + "…";
    }
    if (shown) {
      out += text.substr(at, next.size);
    } else {
      out += '?';
    }
    columns += width;
    if (max > 0 && columns + 1 <= max) end_of_cut = out.size();
    at += next.size;
  }
  return out;
}

size_t display_width(std::string_view text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8 next = decode_utf8(text.substr(at));
    columns += next.valid && !is_control(next.code) ? columns_of(next.code) : 1;
    at += next.size;
  }
  return columns;
}

std::string count_of(int64_t count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

}  // namespace slipway::cli

#include "base/clock.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace slipway {

Timestamp SystemClock::now() const {
  using namespace std::chrono;
  return {duration_cast<microseconds>(system_clock::now().time_since_epoch()).count()};
}

std::string to_iso8601(Timestamp time) {
  int64_t seconds = time.micros / 1'000'000;
  int64_t micros = time.micros % 1'000'000;
  if (micros < 0) {
    micros += 1'000'000;
    --seconds;
  }
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(seconds)),
                     micros / 1000);
}

std::string to_text(Duration duration) {
  const double seconds = static_cast<double>(duration.count()) / 1e6;
  if (seconds < 1) return fmt::format("{} ms", duration.count() / 1000);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const int64_t whole = duration.count() / 1'000'000;
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} d {} h", whole / 86400, whole % 86400 / 3600);
}

Result<Duration> parse_duration(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a duration", text.substr(0, 32)),
                "write a number and a unit: 500ms, 90s, 15m, 2h or 7d");
  };
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return bad();
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  double scale = 0;
  if (unit.empty() || unit == "s") scale = 1;
  if (unit == "ms") scale = 1e-3;
  if (unit == "m" || unit == "min") scale = 60;
  if (unit == "h") scale = 3600;
  if (unit == "d") scale = 86400;
  const double micros = number * scale * 1e6;
  constexpr double kTenYears = 3.2e14;
  if (scale == 0 || micros > kTenYears) return bad();
  return Duration(static_cast<int64_t>(micros));
}

}  // namespace slipway

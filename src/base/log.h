// Structured logging: an event name and its fields, ids always among them.
//
//   log_info("run.submitted", {{"run", run}, {"cluster", cluster}});
//   2026-11-15T09:30:00.123Z info run.submitted run=digits-x7k2mq9w cluster=local
//
// Values are quoted where they hold blanks or control characters. A Secret does not convert to a LogValue.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ids.h"

namespace slipway {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

class LogValue {
 public:
  LogValue(const char* text) : text_(text) {}         // NOLINT(google-explicit-constructor)
  LogValue(std::string_view text) : text_(text) {}    // NOLINT(google-explicit-constructor)
  LogValue(const std::string& text) : text_(text) {}  // NOLINT(google-explicit-constructor)
  template <class Tag>
  LogValue(const Id<Tag>& id) : text_(id.str()) {}  // NOLINT(google-explicit-constructor)
  template <class T>
    requires std::integral<T> || std::floating_point<T>
  LogValue(T number) : text_(fmt::format("{}", number)) {}  // NOLINT(google-explicit-constructor)
  // "not_found: there is no run 'x' (the detail)"
  LogValue(const Error& error);  // NOLINT(google-explicit-constructor)

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct LogField {
  std::string_view name;
  LogValue value;
};

using LogFields = std::initializer_list<LogField>;

// To stderr (the default) or to a file that is opened for append; messages below `level` are dropped.
void configure_log(LogLevel level, const std::string& file = "");

void log(LogLevel level, std::string_view event, LogFields fields);
inline void log_debug(std::string_view event, LogFields fields = {}) {
  log(LogLevel::kDebug, event, fields);
}
inline void log_info(std::string_view event, LogFields fields = {}) {
  log(LogLevel::kInfo, event, fields);
}
inline void log_warning(std::string_view event, LogFields fields = {}) {
  log(LogLevel::kWarning, event, fields);
}
inline void log_error(std::string_view event, LogFields fields = {}) {
  log(LogLevel::kError, event, fields);
}

// For broken invariants only: logs where and why, and aborts.
[[noreturn]] void abort_because(std::string_view why);

}  // namespace slipway

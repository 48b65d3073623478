#include "base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "base/clock.h"

namespace slipway {
namespace {

std::atomic<LogLevel> threshold = LogLevel::kInfo;
std::atomic<int> sink = STDERR_FILENO;

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kError: return "error";
  }
  return "error";
}

bool needs_quotes(std::string_view text) {
  if (text.empty()) return true;
  for (const char c : text)
    if (static_cast<unsigned char>(c) <= 0x20 || c == '"' || c == '=' || c == 0x7f) return true;
  return false;
}

void append_quoted(std::string& line, std::string_view text) {
  line += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  line += '"';
}

}  // namespace

LogValue::LogValue(const Error& error) : text_(fmt::format("{}: {}", error_name(error.code), error.message)) {
  if (!error.detail.empty()) text_ += fmt::format(" ({})", error.detail);
}

void configure_log(LogLevel level, const std::string& file) {
  threshold = level;
  if (file.empty()) return;
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd >= 0) sink = fd;
}

void log(LogLevel level, std::string_view event, LogFields fields) {
  if (level < threshold.load(std::memory_order_relaxed)) return;
  std::string line = fmt::format("{} {} {}", to_iso8601(SystemClock().now()), name_of(level), event);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.name;
    line += '=';
    if (needs_quotes(field.value.text())) {
      append_quoted(line, field.value.text());
    } else {
      line += field.value.text();
    }
  }
  line += '\n';
  // One write a line keeps lines whole when several processes share the file.
  (void)!::write(sink.load(std::memory_order_relaxed), line.data(), line.size());
}

void abort_because(std::string_view why) {
  log_error("invariant.broken", {{"why", why}});
  std::abort();
}

}  // namespace slipway

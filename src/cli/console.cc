#include "cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/quantities.h"

namespace slipway::cli {
namespace {

constexpr size_t kBufferSize = 64 << 10;
constexpr int kExitBrokenPipe = 141;  // 128 + SIGPIPE

bool colours_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && term != nullptr && std::strcmp(term, "dumb") != 0;
}

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::kNone: return "";
    case Colour::kRed: return "31";
    case Colour::kGreen: return "32";
    case Colour::kYellow: return "33";
    case Colour::kBlue: return "34";
    case Colour::kCyan: return "36";
    case Colour::kDim: return "2";
    case Colour::kBold: return "1";
  }
  return "";
}

void write_pretty(const json::value& value, size_t depth, std::string& out) {
  const std::string inner(2 * (depth + 1), ' ');
  const std::string outer(2 * depth, ' ');
  if (value.is_object() && !value.get_object().empty()) {
    out += "{\n";
    bool first = true;
    for (const auto& field : value.get_object()) {
      if (!std::exchange(first, false)) out += ",\n";
      out += inner + json::serialize(json::value(field.key())) + ": ";
      write_pretty(field.value(), depth + 1, out);
    }
    out += "\n" + outer + "}";
  } else if (value.is_array() && !value.get_array().empty()) {
    out += "[\n";
    bool first = true;
    for (const json::value& item : value.get_array()) {
      if (!std::exchange(first, false)) out += ",\n";
      out += inner;
      write_pretty(item, depth + 1, out);
    }
    out += "\n" + outer + "]";
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

std::string paint(std::string_view text, Colour colour, bool on) {
  if (!on || colour == Colour::kNone) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", code_of(colour), text);
}

Colour state_colour(std::string_view state) {
  if (state == "Completed") return Colour::kGreen;
  if (state == "Failed") return Colour::kRed;
  if (state == "Canceled" || state == "CancelRequested" || state == "NotResponding") return Colour::kYellow;
  if (state == "Running" || state == "Finalizing") return Colour::kBlue;
  return Colour::kCyan;
}

Console::Console(int out_fd, int err_fd)
    : out_fd_(out_fd),
      err_fd_(err_fd),
      out_is_terminal_(::isatty(out_fd) == 1),
      err_is_terminal_(::isatty(err_fd) == 1) {
  const bool wanted = colours_wanted();
  colour_out_ = out_is_terminal_ && wanted;
  colour_err_ = err_is_terminal_ && wanted;
}

int Console::width() const {
  if (!out_is_terminal_) return 0;
  winsize size{};
  if (::ioctl(out_fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

void Console::out(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBufferSize) flush();
}

void Console::line(std::string_view text) {
  out(text);
  out("\n");
}

void Console::print_json(const json::value& value) {
  line(out_is_terminal_ ? pretty_json(value) : json::serialize(value));
}

void Console::err(std::string_view text) {
  progress("");
  flush();  // so that the two come in order where both go to one place
  write(err_fd_, text);
}

void Console::hint(std::string_view text) {
  if (!json_) err(fmt::format("{}\n", text));
}

void Console::error(const Error& error) {
  if (json_) {
    err(json::serialize(to_json(error)) + "\n");
    return;
  }
  std::string text =
      fmt::format("{} {}\n", paint("error:", Colour::kRed, colour_err_), printable(error.message));
  // Several next steps stand on lines of their own.
  for (size_t begin = 0; begin < error.next.size();) {
    const size_t end = std::min(error.next.find('\n', begin), error.next.size());
    text += fmt::format("  {}\n", printable(std::string_view(error.next).substr(begin, end - begin)));
    begin = end + 1;
  }
  err(text);
}

void Console::progress(std::string_view text) {
  if (!err_is_terminal_ || json_ || (text.empty() && !progress_shown_)) return;
  progress_shown_ = !text.empty();
  write(err_fd_, fmt::format("\r\033[K{}", text));
}

void Console::flush() {
  std::string pending;
  pending.swap(buffer_);
  write(out_fd_, pending);
}

void Console::write(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EPIPE) {
      std::_Exit(kExitBrokenPipe);
    } else if (errno != EINTR) {
      if (fd == err_fd_) return;  // nowhere left to say it
      const Error failed = errno_error(errno, "write to standard output");
      buffer_.clear();
      error(failed);
      std::_Exit(exit_code(failed.code));
    }
  }
}

std::string pretty_json(const json::value& value) {
  std::string out;
  write_pretty(value, 0, out);
  return out;
}

}  // namespace slipway::cli

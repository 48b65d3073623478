// The terminal, or what stands in for it: where output goes, whether it may be coloured, how wide it is.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace slipway::cli {

enum class Colour { kNone, kRed, kGreen, kYellow, kBlue, kCyan, kDim, kBold };

// `text` in that colour, or as it is when `on` is false.
std::string paint(std::string_view text, Colour colour, bool on);
// The colour a run's state is shown in.
Colour state_colour(std::string_view state);

// Results go to stdout, buffered until flush; hints, progress and errors to stderr, at once. A reader that
// went away (`| head`) ends the process quietly with 141, as SIGPIPE would. Used by one thread at a time.
class Console {
 public:
  Console(int out_fd, int err_fd);
  static Console of_this_process() { return Console(1, 2); }

  bool out_is_terminal() const { return out_is_terminal_; }
  bool err_is_terminal() const { return err_is_terminal_; }
  // False without a terminal, with NO_COLOR set, and with TERM=dumb.
  bool colour_out() const { return colour_out_; }
  bool colour_err() const { return colour_err_; }
  // Columns of stdout's terminal; 0 (no limit) when it is none.
  int width() const;

  void set_json(bool on) { json_ = on; }
  bool json() const { return json_; }

  void out(std::string_view text);
  void line(std::string_view text);  // out, and a newline
  void print_json(const json::value& value);
  void err(std::string_view text);
  // A line for the person, on stderr; nothing with --json.
  void hint(std::string_view text);
  // "error: what happened" and the next step indented below it; with --json the error as an object.
  void error(const Error& error);
  // Draws over the last progress line on a terminal's stderr; an empty text clears it. Nothing elsewhere.
  void progress(std::string_view text);
  void flush();

 private:
  void write(int fd, std::string_view text);

  int out_fd_, err_fd_;
  bool out_is_terminal_ = false, err_is_terminal_ = false;
  bool colour_out_ = false, colour_err_ = false;
  bool json_ = false;
  bool progress_shown_ = false;
  std::string buffer_;
};

// JSON with two blanks a level, for people.
std::string pretty_json(const json::value& value);

}  // namespace slipway::cli

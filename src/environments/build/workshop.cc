#include "environments/build/workshop.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway::environments {
namespace {

constexpr size_t kLongestReason = 1500;

// uv draws its explanations with box characters, and breaks lines for a terminal.
std::string without_drawing(std::string_view text) {
  std::string plain;
  bool blank = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool drawing =
        byte == 0xE2 && i + 2 < text.size() &&
        (static_cast<unsigned char>(text[i + 1]) == 0x94 || static_cast<unsigned char>(text[i + 1]) == 0x95 ||
         static_cast<unsigned char>(text[i + 1]) == 0x96);
    if (drawing) i += 2;
    const bool cross = byte == 0xC3 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) == 0x97;
    if (cross) ++i;
    if (drawing || cross || byte <= ' ') {
      if (!blank) plain += ' ';
      blank = true;
      continue;
    }
    plain += text[i];
    blank = false;
  }
  while (!plain.empty() && plain.back() == ' ') plain.pop_back();
  return plain;
}

}  // namespace

std::string Workshop::variable(const std::string& name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

std::filesystem::path Workshop::find(std::string_view program) const {
  const std::string path = variable("PATH");
  return find_on_path(program, path.empty() ? "/usr/local/bin:/usr/bin:/bin" : path);
}

Result<ProgramEnd> Workshop::run(ProgramCall call) const {
  call.wanted = wanted;
  if (!mark.empty()) call.environment[std::string(kBuildMarkVariable)] = mark;
  if (!call.on_line) call.on_line = [this](std::string_view line) { log(line); };
  SLIPWAY_ASSIGN(ProgramEnd end, run_program(call));
  if (end.unwanted)
    return fail(ErrorCode::kUnavailable, "the build was stopped: the run does not wait for it");
  return end;
}

std::string reason_of(const ProgramEnd& end) {
  if (end.timed_out) return "it took too long";
  std::string_view text = end.last_lines;
  // What a resolver says in the end begins with its error; what came before is progress.
  for (const std::string_view begin : {"\xC3\x97 ", "error: ", "ERROR: ", "Error: "}) {
    const size_t at = text.find(begin);
    if (at == std::string_view::npos || (at > 0 && text[at - 1] != '\n' && text[at - 1] != ' ')) continue;
    text = text.substr(at + (begin.front() == '\xC3' ? 0 : begin.size()));
    break;
  }
  std::string reason = without_drawing(text);
  if (reason.size() > kLongestReason) reason = "..." + reason.substr(reason.size() - kLongestReason);
  if (reason.empty()) reason = fmt::format("it ended with code {}", end.code);
  return reason;
}

Error build_error(std::string_view what, const ProgramEnd& end) {
  const std::string reason = reason_of(end);
  Error error{.code = ErrorCode::kInvalidArgument,
              .message = fmt::format("{}: {}", what, reason),
              .next = "",
              .detail = ""};
  if (end.last_lines.find("No space left on device") != std::string::npos ||
      end.last_lines.find("Disk quota exceeded") != std::string::npos) {
    error.code = ErrorCode::kTooLarge;
    error.message = fmt::format("{}: the disk is full", what);
    error.next = "free some space, or remove unused environments: slipway env prune";
  }
  return error;
}

}  // namespace slipway::environments

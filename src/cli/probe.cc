#include "cli/probe.h"

#include <cstdlib>

#include "base/file.h"
#include "base/subprocess.h"

namespace slipway::cli {

std::optional<std::filesystem::path> find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::filesystem::path found = find_on_path(name, path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
  if (found.empty()) return std::nullopt;
  return found;
}

std::string first_line_of(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          std::chrono::milliseconds time) {
  const auto end = run_program({.program = program,
                                .arguments = arguments,
                                .environment = own_environment(),
                                .folder = {},
                                .longest = time,
                                .wanted = {},
                                .on_line = {},
                                .keep_output = true});
  return end ? end->output.substr(0, end->output.find('\n')) : "";
}

std::string small_file(const std::filesystem::path& path) {
  std::string text = read_file(path, 64 << 10).value_or("");
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace slipway::cli

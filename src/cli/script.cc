#include "cli/script.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace slipway::cli {
namespace {

bool is_python(std::string_view program) {
  if (program == "pypy3" || program == "pypy") return true;
  if (!program.starts_with("python")) return false;
  program.remove_prefix(6);
  return program.find_first_not_of("0123456789.") == std::string_view::npos;
}

// Interpreters whose first argument, when it is no option, is a script.
bool is_other_interpreter(std::string_view program) {
  constexpr std::array kNames{"sh",      "bash",  "dash", "zsh",  "ksh", "fish",
                              "Rscript", "julia", "node", "perl", "ruby"};
  return std::ranges::find(kNames, program) != kNames.end();
}

std::optional<std::string> python_script(const std::vector<std::string>& command) {
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (!word.starts_with('-')) return word;
    if (word == "-" || word.starts_with("--")) return std::nullopt;
    // Flags may stand together, as in -um: what follows the m is a module, what follows a c code.
    if (word.find_first_of("mc") != std::string::npos && word.find_first_of("WX") == std::string::npos)
      return std::nullopt;
    if (word == "-W" || word == "-X") ++i;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> script_of(const std::vector<std::string>& command) {
  if (command.empty()) return std::nullopt;
  const std::filesystem::path program(command.front());
  std::optional<std::string> script;
  if (program.is_relative() && command.front().find('/') != std::string::npos) {
    script = command.front();
  } else if (is_python(program.filename().string())) {
    script = python_script(command);
  } else if (is_other_interpreter(program.filename().string()) && command.size() > 1 &&
             !command[1].starts_with('-')) {
    script = command[1];
  }
  if (!script || script->empty() || std::filesystem::path(*script).is_absolute()) return std::nullopt;
  std::string normal = std::filesystem::path(*script).lexically_normal().string();
  while (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
  if (normal == ".") return std::nullopt;
  return normal;
}

}  // namespace slipway::cli

#include "environments/build/interpreters.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "base/fd.h"
#include "environments/line_text.h"

namespace slipway::environments {
namespace fs = std::filesystem;
namespace {

constexpr const char* kAsk = "import sys; print('%d.%d.%d' % sys.version_info[:3])";

// pyenv puts shell scripts of these names before everything else on the PATH; uv stumbles over them.
bool is_script(const fs::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  char begin[2] = {};
  return fd && ::read(fd.get(), begin, 2) == 2 && begin[0] == '#' && begin[1] == '!';
}

bool is_interpreter_name(std::string_view name) {
  if (!name.starts_with("python")) return false;
  name.remove_prefix(6);
  return std::ranges::all_of(name,
                             [](char c) { return std::isdigit(static_cast<unsigned char>(c)) || c == '.'; });
}

// The folders in which interpreters may be, in the order in which they are preferred.
std::vector<fs::path> interpreter_folders(const Workshop& workshop) {
  std::vector<fs::path> folders;
  const std::string path = workshop.variable("PATH");
  for (const std::string_view folder : pieces_of(path.empty() ? "/usr/local/bin:/usr/bin" : path, ':'))
    if (folder.starts_with('/')) folders.emplace_back(folder);
  const auto below = [&](const fs::path& store) {
    std::error_code error;
    for (const fs::directory_entry& version : fs::directory_iterator(store, error))
      folders.push_back(version.path() / "bin");
  };
  const std::string user = workshop.variable("HOME");
  const std::string pyenv = workshop.variable("PYENV_ROOT");
  if (!pyenv.empty() || !user.empty())
    below((pyenv.empty() ? fs::path(user) / ".pyenv" : fs::path(pyenv)) / "versions");
  const std::string store = workshop.variable("UV_PYTHON_INSTALL_DIR");
  if (!store.empty()) below(store);
  if (!user.empty()) below(fs::path(user) / ".local/share/uv/python");
  below(workshop.tools() / "python");
  return folders;
}

std::vector<fs::path> candidates(const Workshop& workshop) {
  std::vector<fs::path> found;
  std::set<fs::path> seen;
  for (const fs::path& folder : interpreter_folders(workshop)) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      if (!is_interpreter_name(entry.path().filename().native())) continue;
      const fs::path real = fs::canonical(entry.path(), error);
      if (error || !seen.insert(real).second || is_script(real) || ::access(real.c_str(), X_OK) != 0)
        continue;
      // The link tells a virtual environment from its base; the base is what lasts.
      found.push_back(real);
    }
  }
  return found;
}

// For who does not care: the one that the machine's owner has put first.
std::optional<Interpreter> first_interpreter(const Workshop& workshop) {
  for (const fs::path& path : candidates(workshop)) {
    const auto version = ask_version(path, workshop);
    if (!version || version->major < 3) continue;
    workshop.log(fmt::format("Python {}: {}", to_text(*version), path.string()));
    return Interpreter{.path = path, .version = *version};
  }
  return std::nullopt;
}

// Starting an interpreter to ask for its version costs more than anything else here, so that those whose name
// tells another minor version are not asked.
bool may_fit(const fs::path& path, const PythonRequest& request) {
  constexpr int kMostPatches = 64;
  const auto named = parse_python_version(path.filename().native().substr(6));
  if (!named) return true;
  for (int patch = 0; patch < kMostPatches; ++patch)
    if (request.allows({.major = named->major, .minor = named->minor, .patch = patch})) return true;
  return false;
}

// Those that fit, the nearest first. One that is exactly what is asked for ends the search.
std::vector<Interpreter> fitting_interpreters(const PythonRequest& request, const Workshop& workshop) {
  std::vector<Interpreter> found;
  for (const fs::path& path : candidates(workshop)) {
    if (!may_fit(path, request)) continue;
    const auto version = ask_version(path, workshop);
    if (!version || !request.allows(*version)) continue;
    if (to_text(*version) == request.text()) return {{.path = path, .version = *version}};
    found.push_back({.path = path, .version = *version});
  }
  std::ranges::sort(found, {}, [&](const Interpreter& i) { return request.distance(i.version); });
  return found;
}

std::string list_of(const std::vector<Interpreter>& interpreters) {
  std::vector<std::string> versions;
  for (const Interpreter& interpreter : interpreters) versions.push_back(to_text(interpreter.version));
  return versions.empty() ? "none" : fmt::format("{}", fmt::join(versions, ", "));
}

Result<Interpreter> fetch(const PythonRequest& request, const fs::path& uv, const Workshop& workshop) {
  workshop.log(fmt::format("no Python {} here: asking uv to fetch one", request.text()));
  ProgramCall call{.program = uv,
                   .arguments = {"python", "install", "--install-dir", (workshop.tools() / "python").string(),
                                 request.text()},
                   .environment = workshop.variables,
                   .folder = {},
                   .longest = std::chrono::minutes(10),
                   .wanted = {},
                   .on_line = {},
                   .keep_output = false};
  SLIPWAY_ASSIGN(const ProgramEnd end, workshop.run(std::move(call)));
  if (!end.good()) return fail(ErrorCode::kUnsupported, reason_of(end));
  const std::vector<Interpreter> there = fitting_interpreters(request, workshop);
  if (!there.empty()) return there.front();
  return fail(ErrorCode::kUnsupported, "what uv fetched is not what was asked for");
}

}  // namespace

Result<PythonVersion> ask_version(const fs::path& interpreter, const Workshop& workshop) {
  ProgramCall call{.program = interpreter,
                   .arguments = {"-I", "-S", "-c", kAsk},
                   .environment = {{"PATH", workshop.variable("PATH")}},
                   .folder = {},
                   .longest = std::chrono::seconds(20),
                   .wanted = {},
                   .on_line = [](std::string_view) {},
                   .keep_output = true};
  SLIPWAY_ASSIGN(const ProgramEnd end, workshop.run(std::move(call)));
  if (!end.good())
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} does not work: {}", interpreter.string(), reason_of(end)));
  return parse_python_version(trimmed(std::string_view(end.output).substr(0, end.output.find('\n'))));
}

std::vector<Interpreter> find_interpreters(const Workshop& workshop) {
  std::vector<Interpreter> found;
  for (const fs::path& path : candidates(workshop)) {
    const auto version = ask_version(path, workshop);
    if (!version || version->major < 3) continue;
    const bool known =
        std::ranges::any_of(found, [&](const Interpreter& i) { return i.version == *version; });
    if (!known) found.push_back({.path = path, .version = *version});
  }
  std::ranges::sort(found, {}, &Interpreter::version);
  return found;
}

Result<Interpreter> choose_interpreter(const std::string& python, const fs::path& uv,
                                       const Workshop& workshop) {
  SLIPWAY_ASSIGN(const PythonRequest request, PythonRequest::parse(python));
  if (request.text().empty()) {
    if (auto first = first_interpreter(workshop)) return *first;
  }
  const std::vector<Interpreter> fitting = fitting_interpreters(request, workshop);
  if (fitting.empty()) {
    auto fetched = fetch(request, uv, workshop);
    if (fetched || fetched.error().code != ErrorCode::kUnsupported) return fetched;
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("there is no Python {} on this machine (there are: {}), and uv cannot fetch it: {}",
                    request.text(), list_of(find_interpreters(workshop)), fetched.error().message),
        "install it, or let another stand in with a substitution of the workspace");
  }
  const Interpreter& best = fitting.front();
  if (request.is_exactly(best.version)) {
    workshop.log(fmt::format("Python {}: {}", to_text(best.version), best.path.string()));
  } else {
    workshop.log(
        fmt::format("Python {} is not here: {} is used, the nearest release of the same version ({})",
                    request.text(), to_text(best.version), best.path.string()));
  }
  return best;
}

}  // namespace slipway::environments

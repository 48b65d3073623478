#include "environments/build/uv_commands.h"

#include <fmt/format.h>

#include "base/file.h"
#include "environments/build/late_packages.h"
#include "environments/build/uv_tool.h"

namespace slipway::environments {
namespace fs = std::filesystem;
namespace {

constexpr Duration kLongest = std::chrono::hours(3);

// A folder for the files of one command, gone with it.
class Bench {
 public:
  static Result<Bench> make(const Workshop& workshop) {
    const fs::path parent = workshop.environments() / "tmp";
    SLIPWAY_TRY(make_folders(parent));
    std::string name = (parent / "build-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return fail(errno_error(errno, fmt::format("create {}", name)));
    return Bench(name);
  }
  Bench(Bench&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  Bench& operator=(Bench&&) = delete;
  ~Bench() {
    std::error_code error;
    if (!folder_.empty()) fs::remove_all(folder_, error);
  }
  const fs::path& folder() const { return folder_; }
  // What uv leaves in the folder for temporary files, the locks of packages built from source, goes too.
  void take_temporary_files(std::map<std::string, std::string>& variables) const {
    variables["TMPDIR"] = folder_.string();
  }
  Result<fs::path> write(const char* name, std::string_view text) const {
    fs::path file = folder_ / name;
    SLIPWAY_TRY(replace_file(file, text));
    return file;
  }

 private:
  explicit Bench(fs::path folder) : folder_(std::move(folder)) {}
  fs::path folder_;
};

// What comes from a repository or an address without a checksum cannot be required to have one.
bool all_hashed(std::string_view lines) {
  for (size_t at = lines.find("=="); at != std::string_view::npos;) {
    const size_t next = lines.find("==", at + 2);
    const std::string_view entry = lines.substr(at, next == std::string_view::npos ? next : next - at);
    if (entry.find("--hash=") == std::string_view::npos) return false;
    at = next;
  }
  return lines.find(" @ ") == std::string_view::npos;
}

}  // namespace

Result<Uv> Uv::have(const Workshop& workshop) {
  SLIPWAY_ASSIGN(fs::path program, have_uv(workshop));
  return Uv(workshop, std::move(program));
}

Result<ProgramEnd> Uv::run(std::vector<std::string> arguments,
                           const std::map<std::string, std::string>& more) const {
  ProgramCall call{.program = program_,
                   .arguments = std::move(arguments),
                   .environment = uv_environment(workshop_),
                   .folder = {},
                   .longest = kLongest,
                   .wanted = {},
                   .on_line = {},
                   .keep_output = false};
  call.environment["UV_LINK_MODE"] = workshop_.hard_links ? "hardlink" : "copy";
  for (const auto& [name, value] : more) call.environment[name] = value;
  return workshop_.run(std::move(call));
}

Result<std::string> Uv::compile(const std::vector<std::string>& lines, const fs::path& python) const {
  SLIPWAY_ASSIGN(const Bench bench, Bench::make(workshop_));
  SLIPWAY_ASSIGN(const fs::path input,
                 bench.write("requirements.in", fmt::format("{}\n", fmt::join(lines, "\n"))));
  const fs::path output = bench.folder() / "requirements.txt";
  std::map<std::string, std::string> variables;
  bench.take_temporary_files(variables);
  SLIPWAY_ASSIGN(const ProgramEnd end,
                 run({"pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate",
                      "--python", python.string(), "--output-file", output.string(), input.string()},
                     variables));
  if (!end.good()) return fail(build_error("the packages cannot be resolved", end));
  return read_file(output);
}

Status Uv::make_venv(const fs::path& python, const fs::path& venv) const {
  SLIPWAY_ASSIGN(const ProgramEnd end,
                 run({"venv", "--quiet", "--no-project", "--python", python.string(), venv.string()}));
  if (!end.good()) return fail(build_error("the virtual environment cannot be made", end));
  return {};
}

Result<ProgramEnd> Uv::install_from(std::string_view lines, const fs::path& python,
                                    std::vector<std::string> more_arguments,
                                    std::map<std::string, std::string> variables) const {
  SLIPWAY_ASSIGN(const Bench bench, Bench::make(workshop_));
  SLIPWAY_ASSIGN(const fs::path file, bench.write("requirements.txt", lines));
  bench.take_temporary_files(variables);
  std::vector<std::string> arguments{"pip",           "install",        "--no-deps",  "--python",
                                     python.string(), "--requirements", file.string()};
  arguments.emplace_back(all_hashed(lines) ? "--require-hashes" : "--verify-hashes");
  for (std::string& argument : more_arguments) arguments.push_back(std::move(argument));
  return run(std::move(arguments), variables);
}

Status Uv::install(std::string_view lines, const fs::path& python) const {
  if (locked_versions(lines).empty()) return {};
  if (!workshop_.hard_links)
    workshop_.log("jobs cannot be kept apart here (no mount namespaces): files are copied");
  SLIPWAY_ASSIGN(const ProgramEnd end, install_from(lines, python, {}, {}));
  if (!end.good()) return fail(build_error("the packages cannot be installed", end));
  return {};
}

Status Uv::install_late(std::string_view lines, const fs::path& python,
                        const std::map<std::string, std::string>& variables) const {
  SLIPWAY_ASSIGN(const ProgramEnd end, install_from(lines, python, {"--no-build-isolation"}, variables));
  if (!end.good()) return fail(build_error("a package of the second phase cannot be built", end));
  return {};
}

Status Uv::install_wheels(const std::vector<fs::path>& wheels, const fs::path& python) const {
  std::vector<std::string> arguments{"pip",        "install",  "--quiet",      "--no-deps",
                                     "--no-index", "--python", python.string()};
  for (const fs::path& wheel : wheels) arguments.push_back(wheel.string());
  SLIPWAY_ASSIGN(const ProgramEnd end, run(std::move(arguments)));
  if (!end.good()) return fail(build_error("Slipway's own packages cannot be installed", end));
  return {};
}

}  // namespace slipway::environments

#include "environments/build/conda_builder.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/random.h"
#include "environments/build/uv_commands.h"
#include "environments/conda_file.h"

namespace slipway::environments {
namespace fs = std::filesystem;
namespace {

// Parts the body of a lock: before it the packages of conda by address and checksum, behind it those of pip.
constexpr std::string_view kPipMark = "# pip\n";

struct Body {
  std::string conda;
  std::string pip;
};

Body split(std::string_view body) {
  const size_t at = body.find(kPipMark);
  if (at == std::string_view::npos) return {.conda = std::string(body), .pip = ""};
  return {.conda = std::string(body.substr(0, at)), .pip = std::string(body.substr(at + kPipMark.size()))};
}

class CondaBuilder final : public Builder {
 public:
  std::string_view name() const override { return "conda"; }
  Result<Lock> resolve(const EnvironmentDefinition& definition, Workshop& workshop) override;
  Status build(const EnvironmentDefinition& definition, const Lock& lock, const fs::path& folder,
               Workshop& workshop) override;
  Result<PreparedEnvironment> enter(const EnvironmentDefinition& definition, const Lock& lock,
                                    const fs::path& folder, Workshop& workshop) override;

 private:
  static Result<ProgramEnd> run(const CondaTool& tool, std::vector<std::string> arguments, bool keep_output,
                                const Workshop& workshop);
  static Status create(const CondaTool& tool, const fs::path& prefix, const fs::path& file,
                       const Workshop& workshop);
};

Result<ProgramEnd> CondaBuilder::run(const CondaTool& tool, std::vector<std::string> arguments,
                                     bool keep_output, const Workshop& workshop) {
  ProgramCall call{.program = tool.program,
                   .arguments = std::move(arguments),
                   .environment = workshop.variables,
                   .folder = {},
                   .longest = std::chrono::hours(2),
                   .wanted = {},
                   .on_line = {},
                   .keep_output = keep_output};
  call.environment["CONDA_PKGS_DIRS"] = (workshop.cache() / "conda").string();
  call.environment.emplace("MAMBA_ROOT_PREFIX", (workshop.tools() / "mamba").string());
  for (const char* name : {"CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"})
    call.environment.erase(name);
  return workshop.run(std::move(call));
}

// `env create` reads a conda file, `create` a list of addresses; micromamba's `create` reads both.
Status CondaBuilder::create(const CondaTool& tool, const fs::path& prefix, const fs::path& file,
                            const Workshop& workshop) {
  std::vector<std::string> arguments{"create", "--yes", "--prefix", prefix.string(), "--file", file.string()};
  if (file.extension() == ".yml" && tool.name != "micromamba")
    arguments = {"env", "create", "--prefix", prefix.string(), "--file", file.string()};
  SLIPWAY_ASSIGN(const ProgramEnd end, run(tool, std::move(arguments), false, workshop));
  if (!end.good()) return fail(build_error(fmt::format("{} cannot make the environment", tool.name), end));
  return {};
}

Result<Lock> CondaBuilder::resolve(const EnvironmentDefinition& definition, Workshop& workshop) {
  const CondaTool tool = find_conda(workshop);
  workshop.log(fmt::format("resolving with {}", tool.program.string()));
  const fs::path bench = workshop.environments() / "tmp" / ("conda-" + random_base32(10));
  SLIPWAY_TRY(make_folders(bench));
  const auto work = [&]() -> Result<Lock> {
    EnvironmentDefinition conda_part = definition;
    conda_part.pip.clear();
    SLIPWAY_TRY(replace_file(bench / "environment.yml", conda_file_text(conda_part, "")));
    SLIPWAY_TRY(create(tool, bench / "prefix", bench / "environment.yml", workshop));
    SLIPWAY_ASSIGN(
        const ProgramEnd end,
        run(tool,
            tool.name == "micromamba" ? std::vector<std::string>{"env", "export", "--explicit", "--md5",
                                                                 "--prefix", (bench / "prefix").string()}
                                      : std::vector<std::string>{"list", "--explicit", "--md5", "--prefix",
                                                                 (bench / "prefix").string()},
            true, workshop));
    if (!end.good()) return fail(build_error("the conda packages cannot be listed", end));
    Lock lock{.builder = "conda", .facts = {}, .body = end.output};
    if (!lock.body.ends_with('\n')) lock.body += '\n';
    if (definition.pip.empty()) return lock;
    SLIPWAY_ASSIGN(const Uv uv, Uv::have(workshop));
    SLIPWAY_ASSIGN(const std::string pip, uv.compile(definition.pip, bench / "prefix/bin/python"));
    lock.body += std::string(kPipMark) + pip;
    return lock;
  };
  auto lock = work();
  std::error_code error;
  fs::remove_all(bench, error);
  return lock;
}

Status CondaBuilder::build(const EnvironmentDefinition& definition, const Lock& lock, const fs::path& folder,
                           Workshop& workshop) {
  (void)definition;
  const CondaTool tool = find_conda(workshop);
  if (tool.program.empty())
    return fail(ErrorCode::kUnsupported,
                "this environment was settled with a conda tool, and this machine has none",
                "install micromamba, mamba or conda where the agent finds it on its PATH");
  const Body body = split(lock.body);
  SLIPWAY_TRY(replace_file(folder / "explicit.txt", body.conda));
  SLIPWAY_TRY(create(tool, folder / "env", folder / "explicit.txt", workshop));
  if (body.pip.empty()) return {};
  SLIPWAY_ASSIGN(const Uv uv, Uv::have(workshop));
  return uv.install(body.pip, folder / "env/bin/python");
}

Result<PreparedEnvironment> CondaBuilder::enter(const EnvironmentDefinition& definition, const Lock& lock,
                                                const fs::path& folder, Workshop& workshop) {
  (void)definition;
  (void)workshop;
  const fs::path prefix = folder / "env";
  PreparedEnvironment prepared;
  prepared.path_prefix = (prefix / "bin").string();
  prepared.variables["CONDA_PREFIX"] = prefix.string();
  prepared.python = lock.fact("python");
  prepared.guarded = prefix;
  return prepared;
}

}  // namespace

CondaTool find_conda(const Workshop& workshop) {
  for (const char* name : {"micromamba", "mamba", "conda"})
    if (fs::path program = workshop.find(name); !program.empty()) return {.name = name, .program = program};
  return {};
}

std::unique_ptr<Builder> make_conda_builder() {
  return std::make_unique<CondaBuilder>();
}

}  // namespace slipway::environments

#include "environments/build/uv_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/file.h"
#include "bundle/wheels.h"
#include "environments/build/bytecode.h"
#include "environments/build/interpreters.h"
#include "environments/build/late_packages.h"
#include "environments/build/uv_commands.h"
#include "environments/conda_names.h"
#include "environments/requirement.h"
#include "environments/substitutions.h"

namespace slipway::environments {
namespace fs = std::filesystem;
namespace {

bool is_companion(std::string_view name) {
  const std::string plain = package_name(name);
  return plain == kCompanionPackage || plain == "slipway";
}

// What packages of the second phase need to be built stands in the lock too.
std::vector<std::string> build_needs(const std::vector<std::string>& packages, const BuildLog& log) {
  std::vector<std::string> needs;
  std::vector<std::string> names;
  for (const std::string& line : packages)
    if (const auto requirement = parse_requirement(line)) names.push_back(package_name(requirement->name));
  for (const std::string& name : names) {
    const LatePackage* late = find_late_package(name);
    if (late == nullptr) continue;
    for (const std::string_view need : late->needs) {
      if (std::ranges::find(names, need) != names.end() || std::ranges::find(needs, need) != needs.end())
        continue;
      log(fmt::format("{} is built here and needs {}: it is added", name, need));
      needs.emplace_back(need);
    }
  }
  return needs;
}

// uv keeps a wheel it has built by its source alone. A cache for each set of packages it was built against
// keeps a wheel from being used beside others.
Status install_late(const Uv& uv, const fs::path& venv, const Phases& phases, const Lock& lock,
                    const Workshop& workshop) {
  if (phases.late.empty()) return {};
  const std::map<std::string, std::string> versions = locked_versions(lock.body);
  std::map<std::string, std::string> variables = build_variables(versions);
  for (auto& [name, value] : variables)
    if (const std::string own = workshop.variable(name); !own.empty()) value = own;
  std::string against = platform() + "\n" + lock.fact("python");
  for (const auto& [name, version] : versions) against += fmt::format("\n{}=={}", name, version);
  for (const auto& [name, value] : variables) against += fmt::format("\n{}={}", name, value);
  variables["UV_CACHE_DIR"] =
      (workshop.cache() / "against" / Digest::of(against).hex().substr(0, 32)).string();
  variables["PATH"] = (venv / "bin").string() + ":" + workshop.variable("PATH");
  workshop.log(
      fmt::format("second phase, built against what is installed: {}", fmt::join(phases.late, ", ")));
  return uv.install_late(phases.second, venv / "bin/python", variables);
}

// Slipway's own packages come from this program, whatever an index may have under their names.
Status install_companions(const Uv& uv, const fs::path& venv, const Lock& lock, const Workshop& workshop) {
  if (lock.fact("companions").empty()) return {};
  const fs::path folder = workshop.environments() / "wheels";
  SLIPWAY_TRY(bundle::write_wheels(folder));
  std::vector<fs::path> wheels;
  for (const bundle::Wheel& wheel : bundle::wheels()) wheels.push_back(folder / wheel.file_name);
  return uv.install_wheels(wheels, venv / "bin/python");
}

class UvBuilder final : public Builder {
 public:
  std::string_view name() const override { return "uv"; }

  Result<Lock> resolve(const EnvironmentDefinition& definition, Workshop& workshop) override {
    SLIPWAY_ASSIGN(const Uv uv, Uv::have(workshop));
    SLIPWAY_ASSIGN(const Interpreter interpreter,
                   choose_interpreter(definition.python, uv.program(), workshop));
    SLIPWAY_ASSIGN(const UvRequirements wanted, requirements_for_uv(definition, workshop.log));
    Lock lock{.builder = "uv", .facts = {{"python", to_text(interpreter.version)}}, .body = ""};
    if (!wanted.companions.empty())
      lock.facts["companions"] = fmt::format("{}", fmt::join(wanted.companions, " "));
    if (wanted.packages.empty()) return lock;
    workshop.log(fmt::format("resolving {} requirement{}", wanted.packages.size(),
                             wanted.packages.size() == 1 ? "" : "s"));
    std::vector<std::string> lines = wanted.options;
    lines.insert(lines.end(), wanted.packages.begin(), wanted.packages.end());
    for (std::string& need : build_needs(wanted.packages, workshop.log)) lines.push_back(std::move(need));
    SLIPWAY_ASSIGN(const std::string settled, uv.compile(lines, interpreter.path));
    for (const std::string& option : wanted.options) lock.body += option + "\n";
    lock.body += settled;
    return lock;
  }

  Status build(const EnvironmentDefinition& definition, const Lock& lock, const fs::path& folder,
               Workshop& workshop) override {
    (void)definition;
    SLIPWAY_ASSIGN(const Uv uv, Uv::have(workshop));
    SLIPWAY_ASSIGN(const Interpreter interpreter,
                   choose_interpreter(lock.fact("python"), uv.program(), workshop));
    const fs::path venv = folder / "env";
    const fs::path python = venv / "bin/python";
    const Phases phases = split_lock(lock.body);
    SLIPWAY_TRY(uv.make_venv(interpreter.path, venv));
    SLIPWAY_TRY(uv.install(phases.first, python));
    SLIPWAY_TRY(install_late(uv, venv, phases, lock, workshop));
    SLIPWAY_TRY(install_companions(uv, venv, lock, workshop));
    const std::string version =
        fmt::format("python{}.{}", interpreter.version.major, interpreter.version.minor);
    return add_bytecode(python, venv / "lib" / version / "site-packages", workshop);
  }

  Result<PreparedEnvironment> enter(const EnvironmentDefinition& definition, const Lock& lock,
                                    const fs::path& folder, Workshop& workshop) override {
    (void)definition;
    const fs::path venv = folder / "env";
    PreparedEnvironment prepared;
    prepared.path_prefix = (venv / "bin").string();
    prepared.variables["VIRTUAL_ENV"] = venv.string();
    prepared.python = lock.fact("python");
    if (workshop.hard_links) prepared.guarded = venv;
    return prepared;
  }
};

}  // namespace

Result<UvRequirements> requirements_for_uv(const EnvironmentDefinition& definition, const BuildLog& log) {
  UvRequirements requirements;
  const auto add = [&](const std::string& line) {
    const auto parsed = parse_requirement(line);
    if (parsed && is_companion(parsed->name)) {
      requirements.companions.push_back(package_name(parsed->name));
    } else {
      requirements.packages.push_back(line);
    }
  };
  for (const std::string& spec : definition.conda) {
    SLIPWAY_ASSIGN(const CondaOnPyPi stand_in, conda_on_pypi(spec));
    log(stand_in.sentence);
    if (!stand_in.requirement.empty()) add(stand_in.requirement);
  }
  for (const std::string& line : definition.pip) {
    if (is_resolver_option(line)) {
      requirements.options.push_back(line);
    } else {
      add(line);
    }
  }
  return requirements;
}

std::unique_ptr<Builder> make_uv_builder() {
  return std::make_unique<UvBuilder>();
}

}  // namespace slipway::environments

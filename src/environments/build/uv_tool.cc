#include "environments/build/uv_tool.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/file.h"
#include "environments/build/interpreters.h"
#include "environments/build/pip_settings.h"

namespace slipway::environments {
namespace fs = std::filesystem;
namespace {

// Unpacks the one file of the wheel that is wanted: a wheel is a zip archive, and every interpreter reads
// those.
constexpr const char* kUnpack =
    "import glob, shutil, sys, zipfile\n"
    "wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + '/*.whl')[0])\n"
    "name = [n for n in wheel.namelist() if n.endswith('/scripts/uv') or n.endswith('/bin/uv')][0]\n"
    "with wheel.open(name) as source, open(sys.argv[2], 'wb') as target: shutil.copyfileobj(source, "
    "target)\n";

ProgramCall python_call(const fs::path& python, std::vector<std::string> arguments,
                        const Workshop& workshop) {
  return {.program = python,
          .arguments = std::move(arguments),
          .environment = workshop.variables,
          .folder = {},
          .longest = std::chrono::minutes(5),
          .wanted = {},
          .on_line = {},
          .keep_output = false};
}

// Some interpreters come without pip; one that has it is enough.
Result<ProgramEnd> download_with(const fs::path& python, const fs::path& folder, const Workshop& workshop) {
  return workshop.run(python_call(python,
                                  {"-m", "pip", "download", "--disable-pip-version-check", "--no-deps",
                                   "--quiet", "--only-binary=:all:", "--dest", folder.string(), "uv"},
                                  workshop));
}

auto cannot_be_had(const std::string& why) {
  return fail(
      ErrorCode::kUnavailable,
      fmt::format("uv, which builds environments, is not on this machine and cannot be fetched: {}", why),
      "install it where the agent finds it on its PATH: pip install uv");
}

Status fetch_uv(const fs::path& target, const Workshop& workshop) {
  workshop.log("uv is not on this machine: fetching it with pip");
  const fs::path folder = workshop.tools() / "uv.download";
  std::error_code error;
  fs::remove_all(folder, error);
  std::string why = "there is no Python with pip";
  // Newest first: the pip of an old one may not know the wheels of today.
  std::vector<Interpreter> interpreters = find_interpreters(workshop);
  std::ranges::sort(interpreters, std::ranges::greater(), &Interpreter::version);
  for (const Interpreter& interpreter : interpreters) {
    SLIPWAY_ASSIGN(const ProgramEnd end, download_with(interpreter.path, folder, workshop));
    if (!end.good()) {
      why = reason_of(end);
      continue;
    }
    const fs::path aside = target.string() + ".new";
    SLIPWAY_ASSIGN(const ProgramEnd unpacked,
                   workshop.run(python_call(interpreter.path,
                                            {"-c", kUnpack, folder.string(), aside.string()}, workshop)));
    fs::remove_all(folder, error);
    if (!unpacked.good()) return fail(build_error("uv could not be unpacked", unpacked));
    if (::chmod(aside.c_str(), 0700) != 0 || ::rename(aside.c_str(), target.c_str()) != 0)
      return fail(errno_error(errno, fmt::format("place {}", target.string())));
    return {};
  }
  fs::remove_all(folder, error);
  return cannot_be_had(why);
}

}  // namespace

fs::path find_uv(const Workshop& workshop) {
  if (fs::path found = workshop.find("uv"); !found.empty()) return found;
  const fs::path own = workshop.tools() / "uv";
  return ::access(own.c_str(), X_OK) == 0 ? own : fs::path();
}

Result<fs::path> have_uv(const Workshop& workshop) {
  if (fs::path found = find_uv(workshop); !found.empty()) return found;
  SLIPWAY_TRY(make_folders(workshop.tools()));
  // Two builds at once fetch it once.
  while (!workshop.wanted || workshop.wanted()) {
    SLIPWAY_ASSIGN(const std::optional<FileLock> lock, FileLock::try_take(workshop.tools() / "lock"));
    if (fs::path found = find_uv(workshop); !found.empty()) return found;
    if (lock) {
      fs::path target = workshop.tools() / "uv";
      SLIPWAY_TRY(fetch_uv(target, workshop));
      return target;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return fail(ErrorCode::kUnavailable, "the build was stopped: the run does not wait for it");
}

std::map<std::string, std::string> uv_environment(const Workshop& workshop) {
  std::map<std::string, std::string> variables = workshop.variables;
  for (auto& [name, value] : settings_for_uv(workshop.variables)) variables.emplace(name, std::move(value));
  variables["UV_CACHE_DIR"] = (workshop.cache() / "uv").string();
  variables["UV_NO_PROGRESS"] = "1";
  variables["UV_PYTHON_DOWNLOADS"] = "manual";
  variables["NO_COLOR"] = "1";
  // Bytecode is made once for all environments (bytecode.h); builds of packages must be able to make their
  // own.
  for (const char* name :
       {"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"})
    variables.erase(name);
  return variables;
}

}  // namespace slipway::environments

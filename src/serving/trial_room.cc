#include "serving/trial_room.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <sstream>

#include "base/file.h"
#include "base/log.h"
#include "serving/confinement.h"
#include "serving/model_files.h"
#include "serving/runtimes/child_process.h"
#include "serving/runtimes/torch_file.h"

namespace slipway::serving {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kInterpreterTime{20};

// Where an interpreter and its packages are, a line each; the first is that of the user's own packages.
constexpr const char* kPlaces =
    "import site, sys\n"
    "print(site.getuserbase())\n"
    "print('\\n'.join([sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(None, sys.path)]))\n";

// Of the system's settings those that libraries look at, and none with a secret in it.
Places of_the_system() {
  Places places;
  places.read = {"/usr",
                 "/bin",
                 "/sbin",
                 "/lib",
                 "/lib32",
                 "/lib64",
                 "/opt",
                 "/proc",
                 "/sys",
                 "/etc/ld.so.cache",
                 "/etc/localtime",
                 "/etc/timezone",
                 "/etc/passwd",
                 "/etc/group",
                 "/etc/nsswitch.conf",
                 "/etc/hosts",
                 "/etc/os-release",
                 "/etc/mime.types",
                 "/etc/ssl/openssl.cnf",
                 "/etc/OpenCL",
                 "/etc/vulkan",
                 "/dev/random",
                 "/dev/urandom"};
  places.write = {"/dev/null", "/dev/zero", "/dev/full", "/dev/shm"};
  std::error_code gone;
  for (const auto& device : fs::directory_iterator("/dev", gone))
    if (const std::string name = device.path().filename();
        name.starts_with("nvidia") || name == "dri" || name == "kfd")
      places.write.push_back(device.path());
  return places;
}

void add_list(std::vector<fs::path>& places, const char* variable) {
  const char* list = std::getenv(variable);
  std::istringstream all(list == nullptr ? "" : list);
  for (std::string one; std::getline(all, one, ':');)
    if (!one.empty()) places.emplace_back(one);
}

// What the interpreter reads; gives the folder of the user's own packages.
std::string add_interpreter(std::vector<fs::path>& places, const LibrarySearch& search) {
  for (const char* variable : {"PYTHONPATH", "LD_LIBRARY_PATH"}) add_list(places, variable);
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) add_list(places, variable);
  if (!search.runtime_folder.empty()) places.emplace_back(search.runtime_folder);
  const std::string python = search.python.empty() ? "python3" : search.python;
  const auto said = output_of({python, "-c", kPlaces}, kInterpreterTime);
  if (!said) return "";
  std::istringstream lines(*said);
  std::string own;
  std::getline(lines, own);
  for (std::string line; std::getline(lines, line);) places.emplace_back(line);
  return own;
}

// A model of one file is that file alone; others have files beside them.
fs::path model_place(const LoadOptions& options) {
  fs::path path = fs::absolute(options.path);
  std::error_code gone;
  if (fs::is_directory(path, gone)) return path;
  const auto found = options.runtime.empty() ? find_model(path) : any_model(path);
  const bool alone = found && (found->kind == ModelKind::kPickle || found->kind == ModelKind::kKeras ||
                               found->kind == ModelKind::kTorch);
  return alone ? path : path.parent_path();
}

// PyTorch unpacks what AOTInductor has compiled in /tmp, whatever TMPDIR says.
bool unpacks_in_tmp(const std::string& path) {
  const auto found = find_model(path);
  if (!found || found->kind != ModelKind::kTorch) return false;
  const auto content = inspect_torch_file(found->path);
  return content && *content == TorchContent::kCompiled;
}

// In a run below its own folder, which goes with the run whatever happens here; else where this process may
// remove it again.
Result<fs::path> make_folder(const LoadOptions& options) {
  std::error_code gone;
  const bool in_run = std::getenv("SLIPWAY_RUN_ID") != nullptr;
  const fs::path base = in_run ? fs::current_path(gone) : fs::absolute(options.converted) / "trials";
  SLIPWAY_TRY(make_folders(base));
  std::string name = (base / "trial-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    return fail(errno_error(errno, fmt::format("make a folder in {}", base.string())));
  return fs::path(name);
}

Status confine(const Places& places, LoadOptions& options) {
  Places wider = places;
  wider.write.emplace_back(options.converted);
  SLIPWAY_ASSIGN(const Confinement own, Confinement::to(wider));
  if (!own.enter()) return fail(errno_error(errno, "enter the rules of Landlock"));
  options.places = places;
  return {};
}

}  // namespace

TrialRoom::~TrialRoom() {
  std::error_code gone;
  if (!folder_.empty()) fs::remove_all(folder_, gone);
}

Result<TrialRoom> TrialRoom::enter(LoadOptions& options) {
  SLIPWAY_TRY(make_folders(options.converted));
  SLIPWAY_ASSIGN(const fs::path folder, make_folder(options));
  TrialRoom room(folder);
  Places places = of_the_system();
  const std::string user_packages = add_interpreter(places.read, options.search);
  places.read.push_back(model_place(options));
  if (!options.runtime.empty()) places.read.push_back(fs::absolute(options.runtime).parent_path());
  places.write.push_back(folder);
  if (unpacks_in_tmp(options.path)) places.write.emplace_back("/tmp");
  // Settings and caches that libraries keep in a user's home are then the trial's own.
  if (!user_packages.empty()) ::setenv("PYTHONUSERBASE", user_packages.c_str(), 1);
  ::setenv("HOME", folder.c_str(), 1);
  ::setenv("TMPDIR", folder.c_str(), 1);
  if (const Status confined = confine(places, options); !confined)
    log_warning("serving.trial_not_confined",
                {{"error", confined.error()}, {"what", "the model's code sees all files of this user"}});
  return room;
}

}  // namespace slipway::serving

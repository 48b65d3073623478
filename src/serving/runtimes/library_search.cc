#include "serving/runtimes/library_search.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "serving/runtimes/child_process.h"

namespace slipway::serving {

const Framework kOnnxRuntime{
    .package = "onnxruntime", .pip = "onnxruntime", .inside = "capi", .library = "libonnxruntime.so"};
const Framework kTensorFlow{
    .package = "tensorflow", .pip = "tensorflow-cpu", .inside = "", .library = "libtensorflow_cc.so"};

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kInterpreterTime{20};

// The package as argument, the folder on standard output; nothing is imported.
constexpr const char* kAsk =
    "import importlib.util, sys\n"
    "spec = importlib.util.find_spec(sys.argv[1])\n"
    "print(next(iter(spec.submodule_search_locations or []), '') if spec else '')\n";

bool holds(const fs::path& folder, const std::string& library) {
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(folder, gone))
    if (entry.path().filename().string().starts_with(library)) return true;
  return false;
}

std::optional<std::string> in_package(const fs::path& package, const Framework& framework) {
  const fs::path folder = framework.inside.empty() ? package : package / framework.inside;
  if (holds(folder, framework.library)) return folder.string();
  return std::nullopt;
}

std::optional<std::string> in_environment(const char* root, const Framework& framework) {
  if (root == nullptr || *root == '\0') return std::nullopt;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(fs::path(root) / "lib", gone))
    if (entry.path().filename().string().starts_with("python"))
      if (auto found = in_package(entry.path() / "site-packages" / framework.package, framework))
        return found;
  return std::nullopt;
}

}  // namespace

Result<std::string> find_framework(const Framework& framework, const LibrarySearch& search) {
  const std::string python = search.python.empty() ? "python3" : search.python;
  if (!search.runtime_folder.empty()) {
    const fs::path folder(search.runtime_folder);
    if (holds(folder, framework.library)) return folder.string();
    if (auto found = in_package(folder / framework.package, framework)) return *found;
    return fail(ErrorCode::kUnavailable,
                fmt::format("{} has neither {} nor the package {}", folder.string(), framework.library,
                            framework.package),
                fmt::format("name the folder where `pip install {}` has put it", framework.pip));
  }
  if (search.python.empty())
    for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
      if (auto found = in_environment(std::getenv(variable), framework)) return *found;
  // The environment an interpreter belongs to is beside it: that saves starting it.
  if (python.contains('/'))
    if (auto found = in_environment(fs::path(python).parent_path().parent_path().c_str(), framework))
      return *found;
  if (auto asked = output_of({python, "-c", kAsk, framework.package}, kInterpreterTime)) {
    while (asked->ends_with('\n')) asked->pop_back();
    if (!asked->empty())
      if (auto found = in_package(*asked, framework)) return *found;
  }
  return fail(
      ErrorCode::kUnavailable,
      fmt::format("this model needs {}, which the interpreter '{}' does not have", framework.package, python),
      fmt::format("pip install {}, or name its environment: --python DIR/bin/python or --runtime-folder DIR",
                  framework.pip));
}

}  // namespace slipway::serving

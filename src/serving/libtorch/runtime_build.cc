#include "serving/libtorch/runtime_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "serving/conversion/converted_folder.h"
#include "serving/libtorch/memory_room.h"
#include "serving/libtorch/torch_runtime_source.h"
#include "serving/runtimes/child_process.h"

namespace slipway::serving {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kTime{5};
// 1.0 GB were measured with PyTorch 2.15, 0.4 with 1.6.
constexpr uint64_t kCompilerMemory = uint64_t{1200} << 20;
constexpr const char* kLibrary = "runtime.so";
constexpr std::array kCompilers{"c++", "g++", "clang++"};
constexpr std::array kFlags{"-O1", "-fPIC", "-shared", "-w", "-Wfatal-errors"};

struct Text {
  const char* name;
  const char* content;
};
// What is compiled comes first.
std::array<Text, 3> texts() {
  return {{{"torch_runtime.cpp", kTorchRuntimeSource},
           {"torch_graph.h", kTorchGraphSource},
           {"slipway_runtime.h", kRuntimeInterface}}};
}

// The digits after the first `mark`.
std::string number_after(std::string_view text, std::string_view mark, std::string otherwise) {
  const size_t found = text.find(mark);
  if (found == std::string_view::npos) return otherwise;
  text.remove_prefix(found + mark.size());
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  return end == 0 ? otherwise : std::string(text.substr(0, end));
}

Result<std::string> find_compiler() {
  for (const char* name : kCompilers)
    if (is_program(name)) return name;
  return fail(ErrorCode::kUnavailable, "there is no C++ compiler on the PATH: c++, g++ or clang++",
              "install one to run TorchScript in the server's process");
}

Status check_room() {
  const auto room = memory_room();
  if (!room || *room >= kCompilerMemory) return {};
  return fail(ErrorCode::kUnavailable,
              fmt::format("to compile takes {} MB of memory, and {} MB may be used here",
                          kCompilerMemory >> 20, *room >> 20));
}

Status compile(const fs::path& package, const TorchBuild& build, const AsideFolder& aside) {
  SLIPWAY_ASSIGN(const std::string compiler, find_compiler());
  SLIPWAY_TRY(check_room());
  for (const Text& text : texts()) SLIPWAY_TRY(replace_file(aside.scratch() / text.name, text.content));
  const fs::path include = package / "include";
  ChildOptions options;
  options.argv = {compiler, "-std=gnu++" + build.standard, "-D_GLIBCXX_USE_CXX11_ABI=" + build.abi};
  options.argv.insert(options.argv.end(), kFlags.begin(), kFlags.end());
  // Without a path to the libraries in it: an environment with the same torch elsewhere uses it too, and
  // those are loaded before it is.
  for (const std::string& part :
       {std::string("-I"), include.string(), std::string("-I"), (include / "torch/csrc/api/include").string(),
        (aside.scratch() / texts().front().name).string(), std::string("-o"),
        (aside.result() / kLibrary).string(), std::string("-L"), (package / "lib").string(),
        std::string("-ltorch_cpu"), std::string("-lc10")})
    options.argv.push_back(part);
  options.environment = environment_with({"TMPDIR=" + aside.scratch().string()});
  options.folder = aside.scratch().string();
  if (auto done = output_of(options, kTime); !done)
    return fail(done.error().code,
                fmt::format("the runtime for {} cannot be built: {}", package.string(), done.error().message),
                "the lines above say more");
  return {};
}

}  // namespace

TorchBuild read_torch_config(std::string_view cmake) {
  TorchBuild build;
  build.standard = number_after(cmake, "CXX_STANDARD ", build.standard);
  build.abi = number_after(cmake, "_GLIBCXX_USE_CXX11_ABI=", build.abi);
  return build;
}

Result<fs::path> torch_runtime_for(const fs::path& package, const fs::path& folder) {
  SLIPWAY_ASSIGN(const std::string version, read_file(package / "version.py"));
  SLIPWAY_ASSIGN(const std::string cmake, read_file(package / "share/cmake/Torch/TorchConfig.cmake"));
  Hasher hasher;
  for (const std::string_view part : {std::string_view(version), std::string_view(cmake)}) {
    hasher.update(part);
    hasher.update(std::string_view("\0", 1));
  }
  for (const Text& text : texts()) hasher.update(text.content);
  for (const char* flag : kFlags) hasher.update(flag);
  const std::string key = hasher.finish().hex();
  ConvertedFolder converted(folder);
  SLIPWAY_ASSIGN(ConvertedFolder::Turn turn, converted.wait_for(key, kTime));
  if (turn.result) return *turn.result / kLibrary;
  const Monotonic start = std::chrono::steady_clock::now();
  log_info("serving.building_runtime", {{"torch", package.string()}});
  SLIPWAY_TRY(compile(package, read_torch_config(cmake), *turn.aside));
  SLIPWAY_ASSIGN(const fs::path result, converted.keep(key, *turn.aside));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  log_info("serving.runtime_built", {{"torch", package.string()}, {"seconds", took.count()}});
  return result / kLibrary;
}

}  // namespace slipway::serving

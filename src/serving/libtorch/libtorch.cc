#include "serving/libtorch/libtorch.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "serving/libtorch/runtime_build.h"
#include "serving/runtimes/external_runtime.h"
#include "serving/runtimes/runtime_model.h"

namespace slipway::serving {
namespace {

constexpr const char* kLibrary = "libtorch_cpu.so";

const Framework kTorch{.package = "torch", .pip = "torch", .inside = "lib", .library = kLibrary};

// What the runtime asks for by name alone is then there already.
Status open_libtorch(const std::filesystem::path& libraries, int threads) {
  // Of every thread that computes; both are read when the library loads.
  for (const char* variable : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"})
    ::setenv(variable, std::to_string(threads).c_str(), 1);
  const std::filesystem::path file = libraries / kLibrary;
  if (::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
    return fail(ErrorCode::kUnavailable, fmt::format("{} cannot be loaded: {}", file.string(), ::dlerror()));
  return {};
}

}  // namespace

Result<std::unique_ptr<Model>> load_with_libtorch(const LibtorchLoad& load) {
  SLIPWAY_ASSIGN(const std::string found, find_framework(kTorch, load.search));
  const std::filesystem::path libraries = std::filesystem::absolute(found);
  SLIPWAY_TRY(
      open_libtorch(libraries, load.threads));  // first: a runtime for what does not load is of no use
  SLIPWAY_ASSIGN(const std::filesystem::path built,
                 torch_runtime_for(libraries.parent_path(), std::filesystem::absolute(load.converted)));
  SLIPWAY_ASSIGN(const SlipwayRuntime* runtime, load_runtime(built.string()));
  return load_with(*runtime, {.path = load.path.string(),
                              .library_folder = libraries.string(),
                              .platform = "pytorch",
                              .threads = load.threads,
                              .instances = load.instances});
}

}  // namespace slipway::serving

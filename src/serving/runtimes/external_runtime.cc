#include "serving/runtimes/external_runtime.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

namespace slipway::serving {
namespace {

constexpr const char* kEntry = "slipway_runtime";

std::unexpected<Error> unfit(const std::string& path, const std::string& why, const std::string& next) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("the runtime {} cannot be used: {}", path, why), next);
}

bool is_whole(const SlipwayRuntime& runtime) {
  return runtime.name != nullptr && runtime.load != nullptr && runtime.unload != nullptr &&
         runtime.signatures != nullptr && runtime.run != nullptr && runtime.tensors != nullptr &&
         runtime.release != nullptr;
}

}  // namespace

Result<const SlipwayRuntime*> load_runtime(const std::string& path) {
  const std::string rebuild =
      fmt::format("build it against this server's slipway_runtime.h, version {}", SLIPWAY_RUNTIME_ABI);
  std::error_code gone;
  if (!std::filesystem::is_regular_file(path, gone))
    return unfit(path, "there is no such file", "name the shared library");
  // By its whole path, since a bare name would be looked for elsewhere.
  void* library = ::dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return unfit(path, ::dlerror(), "");
  const auto entry = reinterpret_cast<SlipwayRuntimeEntry>(::dlsym(library, kEntry));
  if (entry == nullptr)
    return unfit(path, fmt::format("it has no function {}()", kEntry),
                 "slipway_runtime.h says what it needs");
  const SlipwayRuntime* runtime = entry(SLIPWAY_RUNTIME_ABI);
  if (runtime == nullptr)
    return unfit(path, fmt::format("it does not speak version {} of the interface", SLIPWAY_RUNTIME_ABI),
                 rebuild);
  if (runtime->abi != SLIPWAY_RUNTIME_ABI)
    return unfit(path,
                 fmt::format("it speaks version {} of the interface, and this server version {}",
                             runtime->abi, SLIPWAY_RUNTIME_ABI),
                 rebuild);
  if (!is_whole(*runtime)) return unfit(path, "its table lacks functions or a name", rebuild);
  return runtime;
}

}  // namespace slipway::serving

// The runtime for TorchScript, made of its source (torch_runtime.cpp) by this machine's C++ compiler against
// the headers that a torch package brings: once for each torch, since no two have the same interface.
//
// Kept with the converted models (converted_folder.h), so: it has its name only when it is whole, of several
// servers that want it one makes it, and what one that was killed had begun is removed by the next.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace slipway::serving {

// How C++ is to be compiled that meets this torch, from what its package says to CMake.
struct TorchBuild {
  std::string standard = "20";  // of C++; of packages that do not say: they are newer
  std::string abi = "1";        // _GLIBCXX_USE_CXX11_ABI
};
TorchBuild read_torch_config(std::string_view cmake);

// The shared library. `package` is the folder of the package torch, `folder` that of the converted models,
// both absolute. kUnavailable where there is no compiler, headers are missing or memory is too short to
// compile; kInternal when the compiler fails, which has then said why on the standard error.
Result<std::filesystem::path> torch_runtime_for(const std::filesystem::path& package,
                                                const std::filesystem::path& folder);

}  // namespace slipway::serving

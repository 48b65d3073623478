// What a PyTorch file holds, told from its archive's directory and the first steps of its pickle. Nothing is
// unpickled: that would run whatever the file says.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway::serving {

enum class TorchContent {
  kScript,    // TorchScript: torch.jit.save()
  kExported,  // a program: torch.export.save()
  kCompiled,  // a program compiled for this kind of machine: torch._inductor.aoti_compile_and_package()
};

// kUnsupported, with what to do, for weights, pickled networks and what is no PyTorch file.
Result<TorchContent> inspect_torch(std::string_view file);

// The same of the file at `path`; the message names it.
Result<TorchContent> inspect_torch_file(const std::string& path);

}  // namespace slipway::serving

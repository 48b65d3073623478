// A runtime that a shared library brings (slipway_runtime.h). It is native code with all the rights of the
// server: only a path that the user has given is ever loaded.
#pragma once

#include <string>

#include "base/result.h"
#include "serving/runtimes/slipway_runtime.h"

namespace slipway::serving {

// The library stays loaded for the life of the process. kInvalidArgument says what does not fit: no such
// file, no library, no entry function, another version of the interface, a table with holes.
Result<const SlipwayRuntime*> load_runtime(const std::string& path);

}  // namespace slipway::serving

// ONNX Runtime, from the library of its Python package.
#pragma once

#include "serving/runtimes/slipway_runtime.h"

namespace slipway::serving {

const SlipwayRuntime* onnx_runtime(uint32_t host_abi);

}  // namespace slipway::serving

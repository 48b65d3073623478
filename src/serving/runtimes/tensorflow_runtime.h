// TensorFlow, from the libraries of its Python package: SavedModels with all their signatures.
#pragma once

#include "serving/runtimes/slipway_runtime.h"

namespace slipway::serving {

const SlipwayRuntime* tensorflow_runtime(uint32_t host_abi);

}  // namespace slipway::serving

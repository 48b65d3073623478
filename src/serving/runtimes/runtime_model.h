// A Model over the C interface of a runtime.
#pragma once

#include <memory>
#include <string>

#include "serving/model.h"
#include "serving/runtimes/slipway_runtime.h"

namespace slipway::serving {

struct RuntimeLoad {
  std::string path;            // the model's file or folder
  std::string library_folder;  // of the framework
  std::string platform;        // "onnx"
  int threads = 1;             // for one run
  unsigned instances = 1;      // runs at a time
};

// The message of a failure names the model and what to do. The runtime's table outlives the model.
Result<std::unique_ptr<Model>> load_with(const SlipwayRuntime& runtime, const RuntimeLoad& load);

}  // namespace slipway::serving

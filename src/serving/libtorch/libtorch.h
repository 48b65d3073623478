// TorchScript in the server's process: libtorch of the model's own environment, behind a runtime that is
// built for it.
#pragma once

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "serving/model.h"
#include "serving/runtimes/library_search.h"

namespace slipway::serving {

struct LibtorchLoad {
  std::filesystem::path path;       // of the model
  LibrarySearch search;             // for the package torch
  std::filesystem::path converted;  // where the runtime is kept once it is built
  int threads = 1;                  // for one run
  unsigned instances = 1;           // runs at a time
};

// Any failure leaves the model to processes of Python: what stands in the way here is said, and nothing is
// lost.
Result<std::unique_ptr<Model>> load_with_libtorch(const LibtorchLoad& load);

}  // namespace slipway::serving

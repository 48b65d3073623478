// A model in Python processes of its own: scikit-learn, PyTorch and entry scripts. What they unpickle, import
// or do never happens in the server's process, and what kills them does not kill it.
//
// Invariants
//   1. A worker computes for one call at a time and is idle, taken, or being started again.
//   2. Workers are started, and started again, by the keeper thread alone: they die with it.
//   3. One that does not answer in time, or is gone, is killed and replaced; only the call that had it fails.
//   4. Starts that fail one after the other come at growing intervals.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "serving/confinement.h"
#include "serving/model.h"

namespace slipway::serving {

struct WorkerOrder {
  std::string kind;       // "scikit-learn" or "entry-script", as worker.py knows them, or one of `code`
  std::string code;       // Python text with a class Model for this kind; empty: worker.py's own
  std::string platform;   // as Open Inference's metadata names it
  std::string path;       // the model's file or folder
  std::string entry;      // of an entry script
  std::string model_dir;  // its AZUREML_MODEL_DIR
  std::string python;     // the interpreter; empty: python3
  unsigned workers = 1;
  int threads = 1;            // for its numerical libraries
  uint64_t memory_bytes = 0;  // of one worker; 0: no limit
  // What a worker may touch; nullopt: whatever this process may.
  std::optional<Places> places = std::nullopt;
};

// Starts the workers and returns once the first has loaded the model. The message of a failure is the
// worker's own.
Result<std::unique_ptr<Model>> start_workers(const WorkerOrder& order);

}  // namespace slipway::serving

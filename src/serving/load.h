// From what a user names to a loaded model: finds out what it is, which version, and which runtime serves it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "serving/confinement.h"
#include "serving/model.h"
#include "serving/runtimes/library_search.h"
#include "serving/statistics.h"

namespace slipway::serving {

struct LoadOptions {
  std::string path;     // a file or a folder
  std::string name;     // empty: after the file or folder
  std::string version;  // empty: 1, or the largest of a folder of numbered versions
  std::string runtime;  // a shared library that serves it; empty: one of our own
  std::string entry;    // a script with init() and run() that does the work; `path` is then its model's
  LibrarySearch search;
  std::string converted;       // the folder where converted models are kept
  bool onnx = false;           // use what the model can be converted to as ONNX, if the answers agree
  std::string sample;          // a body of /score to compare them on; empty: random numbers
  int threads = 1;             // of the framework, for one run
  unsigned instances = 2;      // runs at a time, in this process
  unsigned workers = 1;        // processes, for models that run in their own
  uint64_t worker_memory = 0;  // of one, and of a conversion; 0: no limit
  // What processes with the model's own code may touch; nullopt: whatever this one may.
  std::optional<Places> places = std::nullopt;
};

struct LoadedModel {
  std::string name;
  std::string version;
  std::unique_ptr<Model> model;
  double load_milliseconds = 0;
  Microseconds first_run{};  // of a warm run on made-up inputs
};

// Loads, and runs the model once on made-up inputs where its shapes allow it: one that loads may still fail
// then, and the first client would pay for its warming up.
Result<LoadedModel> load_model(const LoadOptions& options);

}  // namespace slipway::serving

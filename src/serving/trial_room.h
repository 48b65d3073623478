// Where a model is tried: it sees the system, the interpreter's packages and itself, and writes into one
// folder that goes away again. A model is code, and loading it is no reason to trust it with its user's
// files.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "serving/load.h"

namespace slipway::serving {

class TrialRoom {
 public:
  // Confines this process, which has one thread, and by `options` more closely the processes that load the
  // model. Where the kernel cannot do that the log says so, and the trial goes on. An error: there is no
  // folder to write into.
  static Result<TrialRoom> enter(LoadOptions& options);

  TrialRoom(TrialRoom&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  TrialRoom& operator=(TrialRoom&&) = delete;
  ~TrialRoom();

 private:
  explicit TrialRoom(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

}  // namespace slipway::serving

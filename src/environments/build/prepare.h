// From an order's environment to one that is ready on this machine, built when it is not there yet.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "environments/build/workshop.h"
#include "environments/build_store.h"

namespace slipway::environments {

// What the run's record says about what it ran with.
struct BuildReport {
  std::string build;  // its id; empty: nothing was built
  std::string builder;
  std::string python;
  std::string lock_digest;
  std::vector<std::string> applied;  // substitutions, a sentence each
  double seconds = 0;                // until it was ready
  bool reused = false;
};

struct Preparation {
  EnvironmentOrder order;
  std::filesystem::path attempt;  // its folder: what uses the build
  Timestamp submitted_at;         // of the run: a failure after it holds for it too
  // Settles with the server which lock holds for the key on this platform.
  std::function<Result<std::string>(std::string_view builder, const std::string& lock)> agree;
  // Ends what a killed agent has left of a build with that mark.
  std::function<void(const std::string& mark)> end_leftovers;
};

struct Prepared {
  PreparedEnvironment environment;
  BuildReport report;
};

// Waits for a build of the same key that is under way. Errors are sentences for the user; kUnavailable when
// `workshop.wanted` has become false.
Result<Prepared> prepare_environment(const Preparation& preparation, Workshop& workshop);

}  // namespace slipway::environments

// What changed between two runs: code by file, command, environment, variables, data, git state, result.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/json.h"
#include "runs/run.h"
#include "snapshot/manifest.h"

namespace slipway::runs {

struct DiffSide {
  const Run& run;
  snapshot::Manifest source;                   // empty when the run has none
  std::map<std::string, double> last_metrics;  // by name
};

// `environment` is what environment_changes (run_environment.h) says.
// {"from", "to", "code": [{"path", "change"}], and for each other section null when equal or {"from", "to"}}.
json::object diff_runs(const DiffSide& from, const DiffSide& to, json::value environment);

}  // namespace slipway::runs

// A run as the store holds it, and as the API shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "protocol/job.h"
#include "runs/state.h"

namespace slipway::runs {

// The overloads below stand beside those for plain values.
using slipway::to_json;

struct Run {
  int64_t seq = 0;  // order of submission over the whole installation
  RunId id;
  WorkspaceName workspace;
  RunState state = RunState::kNotStarted;
  RunState resume_state = RunState::kRunning;
  int attempt = 0;  // 0 until it is placed for the first time
  Job job;          // its tags are those of the submission; the present ones are in `tags`
  std::map<std::string, std::string> tags;
  std::string display_name;
  Timestamp submitted_at;
  std::optional<Timestamp> started_at;
  std::optional<Timestamp> ended_at;
  std::optional<int64_t> exit_code;
  std::string reason;
  std::string submitted_by;
  std::optional<RunId> parent;  // the run that this one repeats
  std::vector<std::string> warnings;
  std::vector<std::string> skipped;  // outputs that were not kept, each with its reason
};

struct RunEvent {
  int64_t seq = 0;  // from 1 within the run
  Timestamp time;
  std::string kind;
  RunState state = RunState::kNotStarted;  // the state it led to
  int attempt = 0;
  std::string reason;
};

// `waiting_because` is empty unless the run waits; `nodes` are those of the present attempt.
json::object to_json(const Run& run, Timestamp now, const std::string& waiting_because,
                     const std::vector<NodeId>& nodes);
json::object to_json(const RunEvent& event);

}  // namespace slipway::runs

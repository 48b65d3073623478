// A run as the store holds it, and as the API shows it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "protocol/job.h"
#include "runs/state.h"

namespace slipway::runs {

// The overloads below stand beside those for plain values.
using slipway::to_json;

enum class RunType {
  kJob,          // nodes carry it out
  kInteractive,  // a client begins it, logs to it and ends it; no node knows of it
};

std::string_view to_text(RunType type);  // "interactive"
std::optional<RunType> run_type_from_text(std::string_view text);

// Whose it is. Lists show users' runs unless they are asked for others.
enum class RunKind {
  kJob,      // a user's
  kTrial,    // loads a model that was registered, once
  kReplica,  // carries a service
};

std::string_view to_text(RunKind kind);  // "replica"
std::optional<RunKind> run_kind_from_text(std::string_view text);

struct Run {
  int64_t seq = 0;  // order of submission over the whole installation
  RunId id;
  WorkspaceName workspace;
  RunType type = RunType::kJob;
  RunKind kind = RunKind::kJob;
  RunState state = RunState::kNotStarted;
  RunState resume_state = RunState::kRunning;
  int attempt = 0;                    // 0 until it is placed for the first time
  int preemptions = 0;                // attempts that ended by giving way to another run
  std::optional<RunId> gives_way_to;  // its attempt was told to end for this one
  Timestamp waiting_since;            // as ageing counts (compute/standing.h)
  // Its tags are those of the submission; the present ones are in `tags`. Of an interactive run it has the
  // experiment and the source only.
  Job job;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> properties;  // each set once and never changed
  std::string display_name;
  std::string description;
  Timestamp submitted_at;
  std::optional<Timestamp> started_at;
  std::optional<Timestamp> ended_at;
  std::optional<int64_t> exit_code;
  std::string reason;
  std::string error_code;  // given by the client that said that an interactive run failed
  std::string submitted_by;
  std::optional<RunId> rerun_of;  // the run that this one repeats
  std::optional<RunId> parent;
  std::optional<RunId> root;  // the top of its family; nullopt: it has no parent
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

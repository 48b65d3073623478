// Interactive runs: begun, logged to and ended by a client; no node carries them out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runs/orchestrator.h"
#include "runs/run.h"
#include "store/idempotency.h"

namespace slipway::runs {

struct InteractiveRun {
  std::string display_name;
  std::string description;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> properties;
};

struct InteractiveOrder {
  WorkspaceName workspace;
  ExperimentName experiment{"default"};  // a child is in its parent's
  std::optional<RunId> parent;
  std::string snapshot;  // of the source it was begun in; empty: none
  GitState git;
  std::vector<InteractiveRun> runs;
  store::RequestKey request;
  std::string submitted_by;
};

struct Begun {
  std::vector<Run> runs;
  bool repeated = false;  // the key was known: these are the runs it made then
};

class InteractiveRuns {
 public:
  // All outlive it.
  InteractiveRuns(store::Database& database, Orchestrator& orchestrator, const Clock& clock)
      : database_(database), orchestrator_(orchestrator), clock_(clock) {}

  // All of them, Running and durable, or none. kNotFound for an unknown parent or snapshot.
  Result<Begun> begin(const InteractiveOrder& order);
  // Saying the same twice changes nothing. kConflict for a job, and for a run that has ended otherwise.
  Result<Run> complete(const Run& run, const std::string& who);
  Result<Run> fail_run(const Run& run, const std::string& reason, const std::string& error_code);

 private:
  Status begin_one(store::Writer& writer, const InteractiveOrder& order, const InteractiveRun& wanted,
                   Run& run);
  Result<Run> end(const Run& run, const Event& event, const std::string& error_code);

  store::Database& database_;
  Orchestrator& orchestrator_;
  const Clock& clock_;
};

}  // namespace slipway::runs

// Finds out whether a version serves: a run of its own loads it and asks it once, in the environment of its
// framework, with bounds on memory and time and a token that opens that version alone. The server never loads
// a model.
//
// Invariants
//   1. A version whose trial is `running` has a run, or gets it when the version is next looked at: starting
//      is idempotent, so a crash between the two costs nothing.
//   2. What the run came to is taken from its log when the version is first looked at after the run's end,
//   and
//      stays when the run is deleted.
// Thread-safe: its state is the store's.
#pragma once

#include <string>

#include "models/model.h"
#include "runs/log_store.h"
#include "runs/orchestrator.h"
#include "runs/run.h"
#include "runs/snapshots.h"
#include "runs/submission.h"
#include "store/database.h"

namespace slipway::models {

class Trials {
 public:
  // All outlive it.
  Trials(store::Database& database, runs::Submissions& submissions, runs::Orchestrator& orchestrator,
         runs::Snapshots& snapshots, runs::LogStore& logs)
      : database_(database),
        submissions_(submissions),
        orchestrator_(orchestrator),
        snapshots_(snapshots),
        logs_(logs) {}

  // Brings the version's record up to date: starts a trial that has no run yet, takes in what an ended one
  // came to. Nothing else changes it.
  Status settle(ModelVersion& model);
  // Another trial, also of a version that was registered without one; nothing new while one is under way.
  // kUnsupported for a custom model.
  Status repeat(ModelVersion& model);

 private:
  Status start(ModelVersion& model);
  Result<Job> job_for(const ModelVersion& model);
  Status take_outcome(ModelVersion& model, const runs::Run& run);
  // The last line of its standard output that is an answer; empty: there is none.
  json::object answer_of(const runs::Run& run) const;
  // Stores the trial unless another has replaced it meanwhile.
  Status store(ModelVersion& model, const Trial& before);

  store::Database& database_;
  runs::Submissions& submissions_;
  runs::Orchestrator& orchestrator_;
  runs::Snapshots& snapshots_;
  runs::LogStore& logs_;
};

}  // namespace slipway::models

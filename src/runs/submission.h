// Takes a job in: checks it, gives it an id and stores it, once for each idempotency key.
#pragma once

#include <optional>
#include <string>

#include "runs/orchestrator.h"
#include "runs/run.h"
#include "runs/run_environment.h"
#include "store/idempotency.h"

namespace slipway::runs {

struct Submission {
  WorkspaceName workspace;
  Job job;
  store::RequestKey request;
  std::string submitted_by;
  std::optional<RunId> rerun_of;
  std::optional<RunId> parent;
  RunKind kind = RunKind::kJob;
};

struct Submitted {
  Run run;
  bool repeated = false;  // the key was known: this is the run it made then
};

class Submissions {
 public:
  Submissions(store::Database& database, Orchestrator& orchestrator, const Clock& clock)
      : database_(database), orchestrator_(orchestrator), clock_(clock) {}

  // Durable when it returns. kInvalidArgument for what cannot run here, kNotFound for an unknown workspace,
  // cluster or snapshot, kConflict for a key that was used with another body.
  Result<Submitted> submit(Submission submission);
  // The job as it would be submitted, with each version it means; nothing is stored. The same errors.
  Result<Job> check(const WorkspaceName& workspace, Job job) const;
  // The same job again, from the snapshot, arguments and environment that the run recorded.
  Result<Submitted> rerun(const Run& original, store::RequestKey request, std::string submitted_by,
                          const std::map<std::string, std::string>& more_tags);

 private:
  // Checks it, and writes into the job which versions it means.
  Status prepare(Submission& submission) const;
  // What the run will have: the original's, for one that repeats another.
  Status decide_environment(const Submission& submission, environments::Resolved& resolved,
                            std::string& pinned_lock) const;

  store::Database& database_;
  Orchestrator& orchestrator_;
  const Clock& clock_;
};

}  // namespace slipway::runs

#include "runs/submission.h"

#include <fmt/format.h>

#include "base/failpoint.h"
#include "compute/scheduler.h"
#include "runs/job_data.h"
#include "runs/job_models.h"
#include "runs/new_run.h"
#include "runs/run_table.h"
#include "runs/snapshots.h"

namespace slipway::runs {

Status Submissions::prepare(Submission& submission) const {
  SLIPWAY_ASSIGN(const auto cluster,
                 orchestrator_.cluster_view({submission.workspace, submission.job.compute}));
  SLIPWAY_TRY(compute::check_fits(submission.job, cluster));
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) -> Status {
    SLIPWAY_TRY(pin_data(reader, submission.workspace, submission.job));
    return pin_models(reader, submission.workspace, submission.job);
  }));
  if (submission.job.snapshot.empty()) return {};
  return check_snapshot(database_, submission.workspace, submission.job.snapshot);
}

Status Submissions::decide_environment(const Submission& submission, environments::Resolved& resolved,
                                       std::string& pinned_lock) const {
  return database_.read([&](store::Reader& reader) -> Status {
    std::optional<RunEnvironment> original;
    if (submission.rerun_of) {
      SLIPWAY_ASSIGN(const Run repeated, load_run(reader, submission.workspace, *submission.rerun_of));
      SLIPWAY_ASSIGN(original, load_run_environment(reader, repeated));
    }
    SLIPWAY_ASSIGN(resolved, resolve_for(reader, submission.workspace, submission.job.environment,
                                         original ? &*original : nullptr));
    if (original) pinned_lock = lock_of(*original);
    return {};
  });
}

Result<Job> Submissions::check(const WorkspaceName& workspace, Job job) const {
  Submission submission{.workspace = workspace,
                        .job = std::move(job),
                        .request = {},
                        .submitted_by = {},
                        .rerun_of = std::nullopt,
                        .parent = std::nullopt};
  SLIPWAY_TRY(prepare(submission));
  environments::Resolved environment;
  std::string pinned_lock;
  SLIPWAY_TRY(decide_environment(submission, environment, pinned_lock));
  submission.job.environment = environment.reference();
  return std::move(submission.job);
}

Result<Submitted> Submissions::submit(Submission submission) {
  SLIPWAY_TRY(prepare(submission));
  environments::Resolved environment;
  std::string pinned_lock;
  SLIPWAY_TRY(decide_environment(submission, environment, pinned_lock));
  submission.job.environment = environment.reference();
  Submitted result;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    result = {};
    SLIPWAY_ASSIGN(const auto made, store::find_made(writer, submission.request));
    if (made) {
      SLIPWAY_ASSIGN(result.run, load_run(writer, submission.workspace, RunId(*made)));
      result.repeated = true;
      return {};
    }
    const Timestamp now = clock_.now();
    Run& run = result.run;
    run.workspace = submission.workspace;
    run.job = submission.job;
    run.tags = submission.job.tags;
    run.display_name = submission.job.display_name;
    run.submitted_at = now;
    run.submitted_by = submission.submitted_by;
    run.rerun_of = submission.rerun_of;
    run.parent = submission.parent;
    run.kind = submission.kind;
    if (!environment.note.empty()) run.warnings.push_back(environment.note);
    SLIPWAY_TRY(add_run(writer, run));
    SLIPWAY_TRY(record_inputs(writer, run));
    SLIPWAY_TRY(record_models(writer, run));
    SLIPWAY_TRY(store_run_environment(writer, run, environment, pinned_lock));
    SLIPWAY_TRY(store::remember_made(writer, submission.request, run.id.str(), now));
    auto verdict = orchestrator_.transitions().apply(
        writer, run, {.kind = EventKind::kAccepted, .reason = "", .outcome = {}});
    if (!verdict) return fail(std::move(verdict).error());
    return {};
  }));
  SLIPWAY_FAILPOINT("submit.after_commit");
  return result;
}

Result<Submitted> Submissions::rerun(const Run& original, store::RequestKey request, std::string submitted_by,
                                     const std::map<std::string, std::string>& more_tags) {
  if (original.type == RunType::kInteractive)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is interactive: it has no command that could be repeated", original.id));
  if (original.kind != RunKind::kJob)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is a {}, which Slipway itself starts when it is needed", original.id,
                            to_text(original.kind)));
  Submission submission{.workspace = original.workspace,
                        .job = original.job,
                        .request = std::move(request),
                        .submitted_by = std::move(submitted_by),
                        .rerun_of = original.id,
                        .parent = std::nullopt,
                        .kind = RunKind::kJob};
  for (const auto& [key, value] : more_tags) submission.job.tags.insert_or_assign(key, value);
  return submit(std::move(submission));
}

}  // namespace slipway::runs

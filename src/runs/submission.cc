#include "runs/submission.h"

#include <fmt/format.h>

#include "base/failpoint.h"
#include "base/random.h"
#include "compute/scheduler.h"
#include "environments/environment.h"
#include "runs/run_table.h"

namespace slipway::runs {
namespace {

constexpr size_t kLongestExperimentInId = 24;

RunId new_run_id(const ExperimentName& experiment) {
  return RunId(fmt::format("{}-{}", experiment.str().substr(0, kLongestExperimentInId), random_base32(8)));
}

}  // namespace

Status Submissions::check(const Submission& submission) const {
  SLIPWAY_TRY(environments::check_environment(submission.job.environment));
  SLIPWAY_ASSIGN(const auto cluster,
                 orchestrator_.cluster_view({submission.workspace, submission.job.compute}));
  SLIPWAY_TRY(compute::check_fits(submission.job, cluster));
  if (submission.job.snapshot.empty()) return {};
  bool found = false;
  SLIPWAY_TRY(database_.read([&](store::Reader& reader) {
    return reader.query("SELECT 1 FROM snapshots WHERE workspace = ? AND digest = ?",
                        {submission.workspace, submission.job.snapshot},
                        [&](const store::Row&) { found = true; });
  }));
  if (!found)
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no snapshot '{}'", submission.job.snapshot.substr(0, 64)),
                "upload the source first: POST .../snapshots");
  return {};
}

Result<Submitted> Submissions::submit(Submission submission) {
  SLIPWAY_TRY(check(submission));
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
    run.id = new_run_id(submission.job.experiment);
    run.workspace = submission.workspace;
    run.job = submission.job;
    run.tags = submission.job.tags;
    run.display_name = submission.job.display_name;
    run.submitted_at = now;
    run.submitted_by = submission.submitted_by;
    run.parent = submission.parent;
    SLIPWAY_TRY(writer.run(
        "INSERT INTO experiments (workspace, name, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        {run.workspace, run.job.experiment, now}));
    SLIPWAY_TRY(insert_run(writer, run));
    SLIPWAY_TRY(store::remember_made(writer, submission.request, run.id.str(), now));
    auto verdict = orchestrator_.transitions().apply(
        writer, run, {.kind = EventKind::kAccepted, .reason = "", .outcome = {}});
    if (!verdict) return fail(std::move(verdict).error());
    return {};
  }));
  SLIPWAY_FAILPOINT("submit.after_commit");
  return result;
}

Result<Submitted> Submissions::rerun(const Run& original, std::string idempotency_key,
                                     std::string submitted_by) {
  Submission submission{.workspace = original.workspace,
                        .job = original.job,
                        .request = {.scope = original.workspace.str(),
                                    .key = std::move(idempotency_key),
                                    .body = Digest::of("rerun " + original.id.str())},
                        .submitted_by = std::move(submitted_by),
                        .parent = original.id};
  return submit(std::move(submission));
}

}  // namespace slipway::runs

#include "runs/new_run.h"

#include <fmt/format.h>

#include "base/random.h"
#include "runs/run_table.h"

namespace slipway::runs {
namespace {

constexpr size_t kLongestExperimentInId = 24;

RunId new_run_id(const ExperimentName& experiment) {
  return RunId(fmt::format("{}-{}", experiment.str().substr(0, kLongestExperimentInId), random_base32(8)));
}

// A child that came after its parent was canceled would escape the cancellation.
Status join_family(store::Writer& writer, Run& run) {
  SLIPWAY_ASSIGN(const Run parent, load_run(writer, run.workspace, *run.parent));
  if (parent.state == RunState::kCanceled || parent.state == RunState::kCancelRequested)
    return fail(ErrorCode::kConflict,
                fmt::format("{} is {}: it takes no more children", parent.id, to_text(parent.state)));
  SLIPWAY_ASSIGN(const int above, depth_of(writer, parent));
  if (above + 1 > kDeepestFamily)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has {} runs above it; a family is at most that deep", parent.id, above));
  run.root = parent.root.value_or(parent.id);
  return {};
}

}  // namespace

Status add_run(store::Writer& writer, Run& run) {
  run.id = new_run_id(run.job.experiment);
  if (run.parent) SLIPWAY_TRY(join_family(writer, run));
  // Experiments are what users gather their runs under.
  if (run.kind == RunKind::kJob)
    SLIPWAY_TRY(writer.run(
        "INSERT INTO experiments (workspace, name, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        {run.workspace, run.job.experiment, run.submitted_at}));
  return insert_run(writer, run);
}

}  // namespace slipway::runs

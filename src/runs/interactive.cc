#include "runs/interactive.h"

#include <fmt/format.h>

#include "base/failpoint.h"
#include "runs/new_run.h"
#include "runs/run_table.h"
#include "runs/snapshots.h"

namespace slipway::runs {
namespace {

// The runs that a key made are remembered as their ids, one a line.
std::string lines_of(const std::vector<Run>& runs) {
  std::string text;
  for (const Run& run : runs) text += run.id.str() + "\n";
  return text;
}

Result<std::vector<Run>> runs_of(store::Reader& reader, const WorkspaceName& workspace,
                                 std::string_view lines) {
  std::vector<Run> runs;
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    SLIPWAY_ASSIGN(Run run, load_run(reader, workspace, RunId(std::string(lines.substr(0, end)))));
    runs.push_back(std::move(run));
    lines.remove_prefix(end + 1);
  }
  return runs;
}

}  // namespace

Status InteractiveRuns::begin_one(store::Writer& writer, const InteractiveOrder& order,
                                  const InteractiveRun& wanted, Run& run) {
  run.type = RunType::kInteractive;
  run.workspace = order.workspace;
  run.job.experiment = order.experiment;
  run.job.compute = ClusterName("");
  run.job.environment.clear();
  run.job.snapshot = order.snapshot;
  run.job.git = order.git;
  run.tags = wanted.tags;
  run.properties = wanted.properties;
  run.display_name = wanted.display_name;
  run.description = wanted.description;
  run.submitted_at = clock_.now();
  run.submitted_by = order.submitted_by;
  run.parent = order.parent;
  SLIPWAY_TRY(add_run(writer, run));
  auto verdict = orchestrator_.transitions().apply(
      writer, run,
      {.kind = EventKind::kOpened, .reason = fmt::format("by {}", order.submitted_by), .outcome = {}});
  if (!verdict) return fail(std::move(verdict).error());
  return {};
}

Result<Begun> InteractiveRuns::begin(const InteractiveOrder& order) {
  if (!order.snapshot.empty()) SLIPWAY_TRY(check_snapshot(database_, order.workspace, order.snapshot));
  Begun begun;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    begun = {};
    SLIPWAY_ASSIGN(const auto made, store::find_made(writer, order.request));
    if (made) {
      SLIPWAY_ASSIGN(begun.runs, runs_of(writer, order.workspace, *made));
      begun.repeated = true;
      return {};
    }
    for (const InteractiveRun& wanted : order.runs)
      SLIPWAY_TRY(begin_one(writer, order, wanted, begun.runs.emplace_back()));
    return store::remember_made(writer, order.request, lines_of(begun.runs), clock_.now());
  }));
  SLIPWAY_FAILPOINT("interactive.after_commit");
  return begun;
}

Result<Run> InteractiveRuns::complete(const Run& run, const std::string& who) {
  return end(run, {.kind = EventKind::kClosed, .reason = fmt::format("by {}", who), .outcome = {}}, "");
}

Result<Run> InteractiveRuns::fail_run(const Run& run, const std::string& reason,
                                      const std::string& error_code) {
  return end(run, {.kind = EventKind::kGivenUp, .reason = reason, .outcome = {}}, error_code);
}

Result<Run> InteractiveRuns::end(const Run& run, const Event& event, const std::string& error_code) {
  Run now;
  SLIPWAY_TRY(database_.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(now, load_run(writer, run.workspace, run.id));
    const std::string code_before = now.error_code;
    now.error_code = error_code;
    SLIPWAY_ASSIGN(const Verdict verdict, orchestrator_.transitions().apply(writer, now, event));
    if (verdict == Verdict::kIgnore) now.error_code = code_before;
    return {};
  }));
  return now;
}

}  // namespace slipway::runs

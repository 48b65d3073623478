#include "runs/deletion.h"

#include <fmt/format.h>

#include "access/token.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "blobs/references.h"
#include "runs/job_data.h"
#include "runs/run_table.h"
#include "runs/snapshots.h"

namespace slipway::runs {
namespace {

Status delete_one(store::Writer& writer, metrics::MetricStore& metrics, const Run& run) {
  if (!is_final(run.state))
    return fail(ErrorCode::kConflict,
                fmt::format("{} is {}: an active run cannot be deleted", run.id, to_text(run.state)),
                fmt::format("cancel it first: slipway run cancel {}", run.id));
  SLIPWAY_TRY(blobs::drop_references(writer, blobs::run_owner(run.id)));
  SLIPWAY_TRY(writer.run("DELETE FROM run_files WHERE run = ?", {run.id}));
  SLIPWAY_TRY(delete_run_data(writer, run.id));
  SLIPWAY_TRY(access::delete_tokens_of_run(writer, run.id));
  SLIPWAY_TRY(metrics.delete_run(writer, run.id));
  SLIPWAY_TRY(delete_run_rows(writer, run));
  return drop_unused_snapshot(writer, run.workspace, run.job.snapshot);
}

}  // namespace

Status delete_run(store::Database& database, metrics::MetricStore& metrics, LogStore& logs, const Run& run,
                  bool family) {
  std::vector<Run> doomed;
  SLIPWAY_TRY(database.write([&](store::Writer& writer) -> Status {
    RunFilter below;
    below.parent = run.id;
    below.recursive = true;
    below.kind = std::nullopt;
    below.limit = INT64_MAX;
    SLIPWAY_ASSIGN(doomed, list_runs(writer, run.workspace, below));
    if (!doomed.empty() && !family)
      return fail(ErrorCode::kConflict, fmt::format("{} runs stand below {}", doomed.size(), run.id),
                  fmt::format("to delete them too: slipway run delete --recursive {}", run.id));
    SLIPWAY_ASSIGN(Run top, load_run(writer, run.workspace, run.id));
    doomed.push_back(std::move(top));
    for (const Run& each : doomed) SLIPWAY_TRY(delete_one(writer, metrics, each));
    return {};
  }));
  SLIPWAY_FAILPOINT("delete.before_logs");
  for (const Run& each : doomed) SLIPWAY_TRY(logs.remove(each.id));
  return {};
}

Status delete_orphaned_logs(store::Database& database, LogStore& logs) {
  for (const RunId& run : logs.runs()) {
    bool known = false;
    SLIPWAY_TRY(database.read([&](store::Reader& reader) {
      return reader.query("SELECT 1 FROM runs WHERE id = ?", {run}, [&](const store::Row&) { known = true; });
    }));
    if (known) continue;
    log_info("logs.orphaned", {{"run", run}});
    SLIPWAY_TRY(logs.remove(run));
  }
  return {};
}

}  // namespace slipway::runs

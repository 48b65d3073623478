// Deletes a run: its rows and references in one transaction, then its logs. The bytes of artifacts that
// nobody names any more are freed by the sweeper, which the caller wakes.
#pragma once

#include "metrics/metric_store.h"
#include "runs/log_store.h"
#include "runs/run.h"
#include "store/database.h"

namespace slipway::runs {

// kConflict while the run is active. With `family` all below it go too, when all have ended; without it a run
// that has children is kConflict.
Status delete_run(store::Database& database, metrics::MetricStore& metrics, LogStore& logs, const Run& run,
                  bool family = false);

// Logs whose run is gone: left by a crash between the two steps above.
Status delete_orphaned_logs(store::Database& database, LogStore& logs);

}  // namespace slipway::runs

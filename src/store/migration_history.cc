// Interactive and child runs, properties, and what runs log besides numbers.
#include "store/migration_steps.h"

namespace slipway::store {

const std::string_view kHistoryStep = R"sql(
-- type: job or interactive. rerun_of: the run it repeats. parent: the run it is a child of. root: the top of
-- its family, NULL for a run without a parent. error_code: what a client gave when it said that the run failed.
ALTER TABLE runs RENAME COLUMN parent TO rerun_of;
ALTER TABLE runs ADD COLUMN parent TEXT;
ALTER TABLE runs ADD COLUMN root TEXT;
ALTER TABLE runs ADD COLUMN type TEXT NOT NULL DEFAULT 'job';
ALTER TABLE runs ADD COLUMN description TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN error_code TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_by_parent ON runs (parent, seq);

-- Set once and never changed.
CREATE TABLE run_properties (
  run_seq BIGINT NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
  workspace TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run_seq, key)
);
CREATE INDEX run_properties_by_value ON run_properties (workspace, key, value, run_seq);

-- Strings, rows, tables, images and documents. value: JSON. points_before: how many numbers the metric had
-- when this came, which is where it stands among them.
CREATE TABLE metric_values (
  position BIGSERIAL PRIMARY KEY,
  run TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  step BIGINT NOT NULL,
  time BIGINT NOT NULL,
  value TEXT NOT NULL,
  points_before BIGINT NOT NULL
);
CREATE INDEX metric_values_by_name ON metric_values (run, name, position);
CREATE INDEX metric_values_by_run ON metric_values (run, position);

-- value_count: of the above. last_kind: of whatever came last, number or one of theirs.
ALTER TABLE metric_summary ADD COLUMN value_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE metric_summary ADD COLUMN last_kind TEXT NOT NULL DEFAULT 'number';

-- The last batch of metrics that each client has stored, so that a repeated one is known.
CREATE TABLE metric_sources (
  run TEXT NOT NULL,
  source TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  PRIMARY KEY (run, source)
);
)sql";

}  // namespace slipway::store

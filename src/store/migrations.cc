// The schema, as the steps that lead to it. A step that has been released is never changed: a new one follows
// it.
//
// Times are microseconds since 1970, documents are JSON text, digests and hashes are hexadecimal.
#include "store/database.h"
#include "store/migration_steps.h"

namespace slipway::store {
namespace {

constexpr std::string_view kFoundation = R"sql(
CREATE TABLE workspaces (
  name TEXT PRIMARY KEY,
  description TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL
);

CREATE TABLE experiments (
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, name)
);

-- kind: user, node or run. hash: SHA-256 of the secret part.
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  hash TEXT NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  workspace TEXT,
  node TEXT,
  run TEXT,
  attempt BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT
);
CREATE INDEX tokens_by_node ON tokens (node);
CREATE INDEX tokens_by_run ON tokens (run);

CREATE TABLE clusters (
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  min_nodes BIGINT NOT NULL,
  max_nodes BIGINT NOT NULL,
  idle_micros BIGINT NOT NULL,
  cpus DOUBLE PRECISION NOT NULL,
  memory_bytes BIGINT NOT NULL,
  gpus BIGINT NOT NULL,
  priority TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, name)
);

CREATE TABLE nodes (
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  cluster TEXT NOT NULL,
  state TEXT NOT NULL,
  cpus DOUBLE PRECISION NOT NULL DEFAULT 0,
  memory_bytes BIGINT NOT NULL DEFAULT 0,
  gpus BIGINT NOT NULL DEFAULT 0,
  gpu_names TEXT NOT NULL DEFAULT '[]',
  gpu_indices TEXT NOT NULL DEFAULT '[]',
  address TEXT NOT NULL DEFAULT '',
  pid BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  registered_at BIGINT,
  stopped_at BIGINT
);
CREATE INDEX nodes_by_cluster ON nodes (workspace, cluster);
CREATE INDEX nodes_by_state ON nodes (state);

-- resume_state: where a run that does not respond goes back to. parent: the run it repeats.
CREATE TABLE runs (
  seq BIGSERIAL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  workspace TEXT NOT NULL,
  experiment TEXT NOT NULL,
  cluster TEXT NOT NULL,
  state TEXT NOT NULL,
  resume_state TEXT,
  attempt BIGINT NOT NULL DEFAULT 0,
  job TEXT NOT NULL,
  snapshot TEXT NOT NULL DEFAULT '',
  display_name TEXT NOT NULL DEFAULT '',
  submitted_at BIGINT NOT NULL,
  started_at BIGINT,
  ended_at BIGINT,
  exit_code BIGINT,
  reason TEXT NOT NULL DEFAULT '',
  submitted_by TEXT NOT NULL DEFAULT '',
  parent TEXT,
  warnings TEXT NOT NULL DEFAULT '[]',
  skipped TEXT NOT NULL DEFAULT '[]',
  event_count BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX runs_by_workspace ON runs (workspace, seq);
CREATE INDEX runs_by_experiment ON runs (workspace, experiment, seq);
CREATE INDEX runs_by_workspace_state ON runs (workspace, state, seq);
CREATE INDEX runs_by_state ON runs (state, seq);
CREATE INDEX runs_by_snapshot ON runs (snapshot);

CREATE TABLE run_tags (
  run_seq BIGINT NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
  workspace TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run_seq, key)
);
CREATE INDEX run_tags_by_value ON run_tags (workspace, key, value, run_seq);

CREATE TABLE run_events (
  run_seq BIGINT NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
  seq BIGINT NOT NULL,
  time BIGINT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  attempt BIGINT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  detail TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (run_seq, seq)
);

-- One node's part of one attempt. state: ordered, claimed, started, exited, finished or fenced. order_seq: the
-- number under which its node hears of it. journal_offset: how far its journal is stored here.
CREATE TABLE attempt_nodes (
  run_seq BIGINT NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
  run TEXT NOT NULL,
  attempt BIGINT NOT NULL,
  rank BIGINT NOT NULL,
  node TEXT NOT NULL,
  order_seq BIGINT NOT NULL DEFAULT 0,
  granted TEXT NOT NULL DEFAULT '{}',
  gpu_indices TEXT NOT NULL DEFAULT '[]',
  state TEXT NOT NULL,
  cancel TEXT,
  journal_offset BIGINT NOT NULL DEFAULT 0,
  token_id TEXT,
  exit TEXT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (run, attempt, rank)
);
CREATE INDEX attempt_nodes_by_node ON attempt_nodes (node, state);
CREATE INDEX attempt_nodes_by_run ON attempt_nodes (run_seq);
CREATE INDEX attempt_nodes_by_state ON attempt_nodes (state);

CREATE TABLE run_files (
  run TEXT NOT NULL,
  path TEXT NOT NULL,
  digest TEXT NOT NULL,
  size BIGINT NOT NULL,
  mode BIGINT NOT NULL,
  PRIMARY KEY (run, path)
);

CREATE TABLE snapshots (
  workspace TEXT NOT NULL,
  digest TEXT NOT NULL,
  files BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, digest)
);

-- owner: what needs the bytes, "run/digits-x7k2mq9w". expires_at: of an upload nothing has claimed yet.
CREATE TABLE blob_refs (
  digest TEXT NOT NULL,
  owner TEXT NOT NULL,
  workspace TEXT NOT NULL,
  expires_at BIGINT,
  PRIMARY KEY (digest, owner)
);
CREATE INDEX blob_refs_by_owner ON blob_refs (owner);
CREATE INDEX blob_refs_by_workspace ON blob_refs (workspace, digest);
CREATE INDEX blob_refs_by_expiry ON blob_refs (expires_at);

CREATE TABLE idempotency (
  workspace TEXT NOT NULL,
  key TEXT NOT NULL,
  body_digest TEXT NOT NULL,
  result TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, key)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- special: NaN, Infinity, -Infinity or -0, which a number column does not keep; value is then NULL.
CREATE TABLE metric_points (
  position BIGSERIAL PRIMARY KEY,
  run TEXT NOT NULL,
  name TEXT NOT NULL,
  step BIGINT NOT NULL,
  time BIGINT NOT NULL,
  value DOUBLE PRECISION,
  special TEXT
);
CREATE INDEX metric_points_by_name ON metric_points (run, name, position);
CREATE INDEX metric_points_by_run ON metric_points (run, position);

-- What a list of a run's metrics needs, so that no point is read for it. min and max are of the finite values.
CREATE TABLE metric_summary (
  run TEXT NOT NULL,
  name TEXT NOT NULL,
  count BIGINT NOT NULL,
  last_step BIGINT NOT NULL,
  last_time BIGINT NOT NULL,
  last_value DOUBLE PRECISION,
  last_special TEXT,
  min_value DOUBLE PRECISION,
  max_value DOUBLE PRECISION,
  PRIMARY KEY (run, name)
);

CREATE TABLE resource_samples (
  position BIGSERIAL PRIMARY KEY,
  run TEXT NOT NULL,
  rank BIGINT NOT NULL,
  time BIGINT NOT NULL,
  sample TEXT NOT NULL
);
CREATE INDEX resource_samples_by_run ON resource_samples (run, position);

-- Numbers the server hands out, such as a node's next order.
CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value BIGINT NOT NULL
);

CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
)sql";

}  // namespace

const std::vector<Migration>& migrations() {
  static const std::vector<Migration> steps = {
      {.version = 1, .name = "foundation", .sql = kFoundation},
      {.version = 2, .name = "history", .sql = kHistoryStep},
      {.version = 3, .name = "data", .sql = kDataStep},
      {.version = 4, .name = "environments", .sql = kEnvironmentsStep},
      {.version = 5, .name = "models", .sql = kModelsStep},
      {.version = 6, .name = "priority", .sql = kPriorityStep},
      {.version = 7, .name = "services", .sql = kServicesStep},
      {.version = 8, .name = "launchers", .sql = kLaunchersStep},
      {.version = 9, .name = "slurm", .sql = kSlurmStep},
  };
  return steps;
}

}  // namespace slipway::store

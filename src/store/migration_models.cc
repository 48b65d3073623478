// Models, where they came from, and what uses them.
#include "store/migration_steps.h"

namespace slipway::store {

const std::string_view kModelsStep = R"sql(
-- kind: job for a user's run; trial and replica for those that Slipway starts itself for a model or a service.
ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'job';

-- Stays when the versions are deleted: a number is never given twice, since runs and services name it.
CREATE TABLE models (
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  next_version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, name)
);

-- manifest: the digest of a snapshot. resources, samples, code and trial: JSON. run, path: where it was
-- registered from. environment: where it is tried and served; empty: where its framework is. code: what the run's record says of its code, which stays when the run is deleted, as its
-- snapshot does.
CREATE TABLE model_versions (
  seq BIGSERIAL PRIMARY KEY,
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  version BIGINT NOT NULL,
  manifest TEXT NOT NULL,
  files BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  framework TEXT NOT NULL,
  framework_version TEXT NOT NULL DEFAULT '',
  environment TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '',
  resources TEXT NOT NULL DEFAULT '{}',
  samples TEXT NOT NULL DEFAULT '{}',
  run TEXT,
  path TEXT NOT NULL DEFAULT '',
  code TEXT NOT NULL DEFAULT '{}',
  code_snapshot TEXT NOT NULL DEFAULT '',
  trial TEXT NOT NULL DEFAULT '{}',
  created_by TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  modified_at BIGINT NOT NULL,
  UNIQUE (workspace, name, version)
);
CREATE INDEX model_versions_by_run ON model_versions (run);
CREATE INDEX model_versions_by_manifest ON model_versions (manifest);
CREATE INDEX model_versions_by_code ON model_versions (code_snapshot);

-- kind: tag, which can be changed, or property, which is set once.
CREATE TABLE model_pairs (
  model_seq BIGINT NOT NULL REFERENCES model_versions (seq) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (model_seq, kind, key)
);

-- The data a version was made from. role: the name of the run's input, or what the user called it.
CREATE TABLE model_datasets (
  model_seq BIGINT NOT NULL REFERENCES model_versions (seq) ON DELETE CASCADE,
  role TEXT NOT NULL,
  workspace TEXT NOT NULL,
  dataset TEXT NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (model_seq, role)
);
CREATE INDEX model_datasets_by_dataset ON model_datasets (workspace, dataset, version);

-- What keeps a version from being deleted. holder: "service/digits-svc".
CREATE TABLE model_uses (
  workspace TEXT NOT NULL,
  model TEXT NOT NULL,
  version BIGINT NOT NULL,
  holder TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, model, version, holder)
);
CREATE INDEX model_uses_by_holder ON model_uses (workspace, holder);

-- Which run was given which version.
CREATE TABLE run_models (
  run TEXT NOT NULL,
  workspace TEXT NOT NULL,
  model TEXT NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (run, model, version)
);
CREATE INDEX run_models_by_model ON run_models (workspace, model, version);
)sql";

}  // namespace slipway::store

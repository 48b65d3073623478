// Datastores, datasets and which run used which.
#include "store/migration_steps.h"

namespace slipway::store {

const std::string_view kDataStep = R"sql(
-- location: a folder or an address. credentials: sealed, empty without. The workspace's own stores have no row.
CREATE TABLE datastores (
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  location TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  credentials TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, name)
);

-- Where it is not the workspace's own store.
CREATE TABLE default_datastores (
  workspace TEXT PRIMARY KEY,
  datastore TEXT NOT NULL
);

-- The paths of the workspace's own stores; the bytes are blobs.
CREATE TABLE datastore_files (
  workspace TEXT NOT NULL,
  datastore TEXT NOT NULL,
  path TEXT NOT NULL,
  digest TEXT NOT NULL,
  size BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, datastore, path)
);

-- Stays when the versions are deleted: a number is never given twice, since runs name it.
CREATE TABLE datasets (
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  next_version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, name)
);

-- definition: JSON. manifest: the digest of its text. produced_by, output: the run and the name of its output.
CREATE TABLE dataset_versions (
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  version BIGINT NOT NULL,
  definition TEXT NOT NULL,
  manifest TEXT NOT NULL,
  files BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  tags TEXT NOT NULL DEFAULT '{}',
  produced_by TEXT,
  output TEXT NOT NULL DEFAULT '',
  created_by TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, name, version)
);
CREATE INDEX dataset_versions_by_run ON dataset_versions (produced_by);

-- placed: what the node said about it, JSON; NULL until then.
CREATE TABLE run_inputs (
  run TEXT NOT NULL,
  input TEXT NOT NULL,
  workspace TEXT NOT NULL,
  dataset TEXT NOT NULL,
  version BIGINT NOT NULL,
  placed TEXT,
  PRIMARY KEY (run, input)
);
CREATE INDEX run_inputs_by_dataset ON run_inputs (workspace, dataset, version);

-- What an attempt has put into a datastore. version: of the dataset it was registered as.
CREATE TABLE run_outputs (
  run TEXT NOT NULL,
  output TEXT NOT NULL,
  attempt BIGINT NOT NULL,
  datastore TEXT NOT NULL,
  path TEXT NOT NULL,
  manifest TEXT NOT NULL,
  files BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  dataset TEXT NOT NULL DEFAULT '',
  version BIGINT,
  PRIMARY KEY (run, output)
);
)sql";

}  // namespace slipway::store

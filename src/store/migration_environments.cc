// Environments, what they were resolved to, and what runs ran with.
#include "store/migration_steps.h"

namespace slipway::store {

const std::string_view kEnvironmentsStep = R"sql(
-- definition: JSON in canonical form; digest: its SHA-256. A deleted version stays for the runs that name it.
CREATE TABLE environments (
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  version BIGINT NOT NULL,
  definition TEXT NOT NULL,
  digest TEXT NOT NULL,
  description TEXT NOT NULL,
  tags TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL,
  deleted_at BIGINT,
  PRIMARY KEY (workspace, name, version)
);
CREATE INDEX environments_by_digest ON environments (workspace, name, digest);

-- The lock of a key and a platform that is current is what new runs are built from; the others stay for reruns.
CREATE TABLE environment_locks (
  workspace TEXT NOT NULL,
  key TEXT NOT NULL,
  platform TEXT NOT NULL,
  digest TEXT NOT NULL,
  builder TEXT NOT NULL,
  lock TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  current BIGINT NOT NULL,
  PRIMARY KEY (workspace, key, platform, digest)
);

-- Rules of a workspace. removed: a rule that is on by default and was taken away.
CREATE TABLE environment_substitutions (
  position BIGSERIAL PRIMARY KEY,
  workspace TEXT NOT NULL,
  kind TEXT NOT NULL,
  pattern TEXT NOT NULL,
  replacement TEXT NOT NULL,
  removed BIGINT NOT NULL,
  UNIQUE (workspace, kind, pattern)
);

-- asked: what was decided at submission (JSON: environment, key, substitutions, note, pinned lock). report: what
-- the node says it ran with, NULL until then.
CREATE TABLE run_environments (
  run_seq BIGINT PRIMARY KEY,
  asked TEXT NOT NULL,
  report TEXT
);
)sql";

}  // namespace slipway::store

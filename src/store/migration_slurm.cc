// Clusters whose nodes come from elsewhere, and what was asked for there.
#include "store/migration_steps.h"

namespace slipway::store {

const std::string_view kSlurmStep = R"sql(
-- settings: JSON, for engines other than local; token: sealed.
ALTER TABLE clusters ADD COLUMN engine TEXT NOT NULL DEFAULT 'local';
ALTER TABLE clusters ADD COLUMN settings TEXT;
ALTER TABLE clusters ADD COLUMN token TEXT;

-- One for each attempt on such a cluster, from before it is asked for until nothing of it is left. request is the
-- name under which it is found there.
CREATE TABLE allocations (
  run TEXT NOT NULL,
  attempt BIGINT NOT NULL,
  workspace TEXT NOT NULL,
  cluster TEXT NOT NULL,
  request TEXT NOT NULL UNIQUE,
  nodes BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (run, attempt)
);
)sql";

}  // namespace slipway::store

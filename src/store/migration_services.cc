// Services, their versions, and the runs that carry them.
#include "store/migration_steps.h"

namespace slipway::store {

const std::string_view kServicesStep = R"sql(
-- tags, scaling: JSON. wanted: replicas now. revision: the one that serves, 0 before the first. primary_key,
-- secondary_key: sealed. A deleted service stays until its replicas have ended and their logs are old.
CREATE TABLE services (
  seq BIGSERIAL PRIMARY KEY,
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  tags TEXT NOT NULL DEFAULT '{}',
  auth TEXT NOT NULL,
  scaling TEXT NOT NULL,
  wanted BIGINT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  revision BIGINT NOT NULL DEFAULT 0,
  last_revision BIGINT NOT NULL DEFAULT 0,
  port BIGINT NOT NULL DEFAULT 0,
  primary_key TEXT NOT NULL DEFAULT '',
  secondary_key TEXT NOT NULL DEFAULT '',
  created_by TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  deleted_at BIGINT,
  event_count BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX services_by_name ON services (name) WHERE deleted_at IS NULL;
CREATE INDEX services_by_workspace ON services (workspace, name);

-- spec: JSON. state: loading, serving, replaced, failed or superseded.
CREATE TABLE service_revisions (
  service BIGINT NOT NULL REFERENCES services (seq) ON DELETE CASCADE,
  number BIGINT NOT NULL,
  spec TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  PRIMARY KEY (service, number)
);

-- run: NULL until it is submitted. state: starting, ready, draining or ended. sealed_key: what it asks for.
CREATE TABLE service_replicas (
  number BIGSERIAL PRIMARY KEY,
  service BIGINT NOT NULL REFERENCES services (seq) ON DELETE CASCADE,
  revision BIGINT NOT NULL,
  run TEXT,
  state TEXT NOT NULL,
  endpoint TEXT NOT NULL DEFAULT '',
  sealed_key TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  ready_at BIGINT,
  ended_at BIGINT
);
CREATE INDEX service_replicas_by_service ON service_replicas (service, state);

-- log: the last lines of a replica that ended by itself.
CREATE TABLE service_events (
  service BIGINT NOT NULL REFERENCES services (seq) ON DELETE CASCADE,
  seq BIGINT NOT NULL,
  time BIGINT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  log TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (service, seq)
);
)sql";

}  // namespace slipway::store

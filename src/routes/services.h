// What the routes stand on. main.cc builds it; each route takes from it what it needs.
#pragma once

#include <functional>
#include <string>

#include "access/token.h"
#include "base/clock.h"
#include "base/notifier.h"
#include "blobs/blob_store.h"
#include "blobs/references.h"
#include "compute/node_registry.h"
#include "http/router.h"
#include "metrics/metric_store.h"
#include "runs/attempts.h"
#include "runs/housekeeping.h"
#include "runs/log_store.h"
#include "runs/orchestrator.h"
#include "runs/snapshots.h"
#include "runs/submission.h"
#include "store/database.h"

namespace slipway::routes {

struct Services {
  store::Database& database;
  blobs::BlobStore& blobs;
  metrics::MetricStore& metrics;
  compute::NodeRegistry& nodes;
  runs::Orchestrator& orchestrator;
  runs::Submissions& submissions;
  runs::Attempts& attempts;
  runs::Snapshots& snapshots;
  runs::LogStore& logs;
  runs::Housekeeping& housekeeping;
  const Clock& clock;
  std::string home;  // for the free space in the status
  bool require_token = true;
  Timestamp started_at;
  // Ends the server once the answer is sent: cancel ends the active runs first.
  std::function<void(bool cancel)> shut_down;
};

// Turns a function of (services, request) into a route's handler.
struct Bind {
  Services& services;
  http::Handler operator()(Result<http::Response> (*handler)(Services&, const http::Request&)) const {
    return
        [&services = services, handler](const http::Request& request) { return handler(services, request); };
  }
};

// Every route of the server, one function a group.
void add_server_routes(http::Router& router, Services& services);
void add_workspace_routes(http::Router& router, Services& services);
void add_token_routes(http::Router& router, Services& services);
void add_artifact_routes(http::Router& router, Services& services);
void add_run_routes(http::Router& router, Services& services);
void add_run_data_routes(http::Router& router, Services& services);
void add_compute_routes(http::Router& router, Services& services);
void add_node_routes(http::Router& router, Services& services);

void add_all_routes(http::Router& router, Services& services);

}  // namespace slipway::routes

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
#include "data/datasets.h"
#include "data/datastores.h"
#include "http/router.h"
#include "metrics/metric_store.h"
#include "models/registry.h"
#include "models/trials.h"
#include "runs/attempts.h"
#include "runs/housekeeping.h"
#include "runs/interactive.h"
#include "runs/log_store.h"
#include "runs/orchestrator.h"
#include "runs/run_outputs.h"
#include "runs/snapshots.h"
#include "runs/submission.h"
#include "services/deployments.h"
#include "store/database.h"

namespace slipway::routes {

struct Services {
  store::Database& database;
  blobs::BlobStore& blobs;
  metrics::MetricStore& metrics;
  compute::NodeRegistry& nodes;
  runs::Orchestrator& orchestrator;
  runs::Submissions& submissions;
  runs::InteractiveRuns& interactive;
  runs::Attempts& attempts;
  runs::Snapshots& snapshots;
  runs::LogStore& logs;
  data::Datastores& datastores;
  data::Datasets& datasets;
  runs::RunOutputs& outputs;
  models::Trials& trials;
  models::Registry& models;
  runs::Housekeeping& housekeeping;
  services::Deployments& deployments;
  Notifier& notifier;
  const Clock& clock;
  std::string home;  // for the free space in the status
  bool require_token = true;
  Timestamp started_at;
  // Ends the server once the answer is sent: cancel ends the active runs first, leave lets even replicas of
  // services run on.
  std::function<void(bool cancel, bool leave)> shut_down;
};

// One row of the route table. Who may call it has no default: a row without it does not compile.
struct RouteRow {
  http::Method method;
  std::string pattern;
  http::Access access;
  Result<http::Response> (*handler)(Services&, const http::Request&);
  http::BodyMode body = http::BodyMode::kBuffered;
  uint64_t body_limit = 4 << 20;
};

// Every route of the server, one function a group.
std::vector<RouteRow> server_routes();
std::vector<RouteRow> workspace_routes();
std::vector<RouteRow> token_routes();
std::vector<RouteRow> artifact_routes();
std::vector<RouteRow> run_routes();
std::vector<RouteRow> run_data_routes();
std::vector<RouteRow> history_routes();
std::vector<RouteRow> environment_routes();
std::vector<RouteRow> environment_build_routes();
std::vector<RouteRow> compute_routes();
std::vector<RouteRow> node_routes();
std::vector<RouteRow> node_data_routes();
std::vector<RouteRow> datastore_routes();
std::vector<RouteRow> data_routes();
std::vector<RouteRow> model_routes();
std::vector<RouteRow> service_routes();

// What the token of a cluster of Slurm's is sealed for.
std::string cluster_seal(const compute::ClusterKey& key);

std::vector<RouteRow> all_routes();
void add_all_routes(http::Router& router, Services& services);

}  // namespace slipway::routes

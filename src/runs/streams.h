// Event streams about runs. Each is read from the store by position, so that a client goes on exactly where
// it was; the notifier only wakes it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "compute/node_registry.h"
#include "http/message.h"
#include "metrics/metric_store.h"
#include "protocol/node.h"
#include "runs/log_store.h"
#include "runs/run.h"
#include "store/database.h"

namespace slipway::runs {

// "state" events: the run's history from `after` on; ends behind the final one.
std::shared_ptr<http::EventSource> run_event_stream(store::Database& database, const Run& run, int64_t after);

// "log" events: {"offset", "channel", "text" or "base64"}; the id is the offset behind the piece. Ends when
// the run has ended and all is sent.
std::shared_ptr<http::EventSource> log_stream(store::Database& database, const LogStore& logs,
                                              const AttemptKey& attempt, std::string name, uint64_t offset);

// "metric" events; the id is the position in the metric store. Ends when the run has ended and all is sent.
std::shared_ptr<http::EventSource> metric_stream(store::Database& database, metrics::MetricStore& metrics,
                                                 const RunId& run, int64_t after);

// A node's orders: "start", "cancel" and "drain". A new stream begins with all that are open.
std::shared_ptr<http::EventSource> order_stream(store::Database& database, const compute::NodeRegistry& nodes,
                                                const NodeId& node);

}  // namespace slipway::runs

// Metrics and resource samples as the API shows and takes them.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "metrics/metric_store.h"

namespace slipway::runs {

json::object to_json(const metrics::StoredPoint& point);
json::object to_json(const metrics::StoredValue& value);
json::object to_json(const metrics::Summary& summary);
json::object to_json(const metrics::ResourceSample& sample);

// What a client logs at once, and where it stands among what that client has logged before.
struct MetricBatch {
  std::vector<journal::Entry> entries;
  std::string source;    // the client's own name for itself; empty: a repetition is not known as one
  int64_t sequence = 0;  // from 1 for each source
};

// {"points": [entries as in journal/value.h], "source"?, "sequence"?}; an entry without a time happened
// `now`.
Result<MetricBatch> metric_batch_from_json(const json::object& body, Timestamp now);

// Stores the batch unless it is known. kConflict with the last one that is stored when some are missing in
// between. False: it was known already.
Result<bool> store_metric_batch(store::Writer& writer, metrics::MetricStore& metrics, const RunId& run,
                                const MetricBatch& batch);

}  // namespace slipway::runs

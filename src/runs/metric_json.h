// Metrics and resource samples as the API shows and takes them.
#pragma once

#include <vector>

#include "base/json.h"
#include "metrics/metric_store.h"

namespace slipway::runs {

json::object to_json(const metrics::StoredPoint& point);
json::object to_json(const metrics::Summary& summary);
json::object to_json(const metrics::ResourceSample& sample);

// {"points": [{"name", "value", "step"?, "time"? (microseconds)}]}; a point without a time happened `now`.
Result<std::vector<journal::MetricPoint>> points_from_json(const json::object& body, Timestamp now);

}  // namespace slipway::runs

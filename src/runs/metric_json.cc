#include "runs/metric_json.h"

#include <fmt/format.h>

namespace slipway::runs {
namespace {

constexpr size_t kMostPointsAtOnce = 10'000;

json::value value_or_null(const std::optional<double>& value) {
  return value ? metrics::value_to_json(*value) : json::value(nullptr);
}

}  // namespace

json::object to_json(const metrics::StoredPoint& point) {
  return {{"position", point.position},
          {"name", point.name},
          {"step", point.step},
          {"time", to_iso8601(point.time)},
          {"value", metrics::value_to_json(point.value)}};
}

json::object to_json(const metrics::Summary& summary) {
  return {{"name", summary.name},
          {"count", summary.count},
          {"last", json::object{{"step", summary.last_step},
                                {"time", to_iso8601(summary.last_time)},
                                {"value", metrics::value_to_json(summary.last_value)}}},
          {"min", value_or_null(summary.min)},
          {"max", value_or_null(summary.max)}};
}

json::object to_json(const metrics::ResourceSample& sample) {
  json::object object{{"time", to_iso8601(sample.time)}, {"rank", sample.rank}};
  if (const auto measured = parse_json_object(sample.sample, "a sample"))
    for (const auto& field : *measured) object.emplace(field.key(), field.value());
  return object;
}

Result<std::vector<journal::MetricPoint>> points_from_json(const json::object& body, Timestamp now) {
  json::array items;
  JsonFields fields(body, "the points");
  fields.required("points", items);
  SLIPWAY_TRY(fields.finish());
  if (items.size() > kMostPointsAtOnce)
    return fail(ErrorCode::kTooLarge, fmt::format("at most {} points at once", kMostPointsAtOnce),
                "send several requests");
  std::vector<journal::MetricPoint> points;
  for (const json::value& item : items) {
    if (!item.is_object()) return fail(ErrorCode::kInvalidArgument, "a point is an object");
    const json::object& object = item.get_object();
    journal::MetricPoint point{.name = "", .step = 0, .time = now, .value = 0};
    JsonFields point_fields(object, "a point");
    point_fields.required("name", point.name);
    point_fields.optional("step", point.step);
    point_fields.optional("time", point.time);
    point_fields.ignore("value");
    SLIPWAY_TRY(point_fields.finish());
    const json::value* value = object.if_contains("value");
    if (value == nullptr) return fail(ErrorCode::kInvalidArgument, "a point lacks the field 'value'");
    SLIPWAY_ASSIGN(point.value, metrics::value_from_json(*value));
    SLIPWAY_TRY(metrics::check_metric_name(point.name));
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace slipway::runs

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

json::object to_json(const metrics::StoredValue& stored) {
  const journal::LoggedValue& value = stored.value;
  const auto document = parse_json(value.document, "a logged value");
  return {{"position", stored.position},          {"name", value.name},
          {"kind", to_text(value.kind)},          {"step", value.step},
          {"time", to_iso8601(value.time)},       {"value", document ? *document : json::value(nullptr)},
          {"points_before", stored.points_before}};
}

json::object to_json(const metrics::Summary& summary) {
  json::value last = nullptr;
  if (summary.count > 0)
    last = json::object{{"step", summary.last_step},
                        {"time", to_iso8601(summary.last_time)},
                        {"value", metrics::value_to_json(summary.last_value)}};
  return {{"name", summary.name},
          {"count", summary.count},
          {"values", summary.value_count},
          {"kind", summary.last_kind},
          {"last", std::move(last)},
          {"min", value_or_null(summary.min)},
          {"max", value_or_null(summary.max)}};
}

json::object to_json(const metrics::ResourceSample& sample) {
  json::object object{{"time", to_iso8601(sample.time)}, {"rank", sample.rank}};
  if (const auto measured = parse_json_object(sample.sample, "a sample"))
    for (const auto& field : *measured) object.emplace(field.key(), field.value());
  return object;
}

Result<MetricBatch> metric_batch_from_json(const json::object& body, Timestamp now) {
  MetricBatch batch;
  json::array items;
  JsonFields fields(body, "the points");
  fields.required("points", items);
  fields.optional("source", batch.source);
  fields.optional("sequence", batch.sequence);
  SLIPWAY_TRY(fields.finish());
  if (items.size() > kMostPointsAtOnce)
    return fail(ErrorCode::kTooLarge, fmt::format("at most {} points at once", kMostPointsAtOnce),
                "send several requests");
  if (batch.source.empty() != (batch.sequence == 0) || batch.sequence < 0)
    return fail(ErrorCode::kInvalidArgument, "'source' and 'sequence' come together",
                "name yourself in 'source' and number your batches from 1");
  if (!batch.source.empty()) SLIPWAY_TRY(check_name(batch.source, "source"));
  for (const json::value& item : items) {
    SLIPWAY_ASSIGN(journal::Entry entry, journal::entry_from_json(item, now));
    SLIPWAY_TRY(metrics::check_metric_name(
        std::visit([](const auto& logged) -> std::string_view { return logged.name; }, entry)));
    batch.entries.push_back(std::move(entry));
  }
  return batch;
}

Result<bool> store_metric_batch(store::Writer& writer, metrics::MetricStore& metrics, const RunId& run,
                                const MetricBatch& batch) {
  if (!batch.source.empty()) {
    int64_t stored = 0;
    SLIPWAY_TRY(writer.query("SELECT sequence FROM metric_sources WHERE run = ? AND source = ?",
                             {run, batch.source}, [&](const store::Row& row) { stored = row.integer(0); }));
    if (batch.sequence <= stored) return false;
    if (batch.sequence > stored + 1)
      return fail(ErrorCode::kConflict,
                  fmt::format("batches of '{}' are stored up to {}", batch.source, stored),
                  fmt::format("send {} first", stored + 1));
    SLIPWAY_TRY(
        writer.run("INSERT INTO metric_sources (run, source, sequence) VALUES (?, ?, ?) "
                   "ON CONFLICT (run, source) DO UPDATE SET sequence = excluded.sequence",
                   {run, batch.source, batch.sequence}));
  }
  if (auto left_out = metrics::append_entries(metrics, writer, run, batch.entries); !left_out)
    return fail(std::move(left_out).error());
  return true;
}

}  // namespace slipway::runs

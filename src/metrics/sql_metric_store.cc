#include <cmath>
#include <map>

#include "metrics/metric_store.h"
#include "metrics/metric_value.h"

namespace slipway::metrics {
namespace {

double value_at(const store::Row& row, int value_column, int special_column) {
  if (!row.is_null(special_column)) return special_value(row.text(special_column)).value_or(0);
  return row.real(value_column);
}

store::Value number_or_null(double value) {
  return special_text(value) ? store::Value(nullptr) : store::Value(value);
}

std::optional<double> maybe_real(const store::Row& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(row.real(column));
}

// What a batch adds to the summary of one metric.
struct Addition {
  int64_t count = 0;
  const journal::MetricPoint* last = nullptr;
  std::optional<double> min;
  std::optional<double> max;

  void take(const journal::MetricPoint& point) {
    ++count;
    last = &point;
    if (!std::isfinite(point.value)) return;
    if (!min || point.value < *min) min = point.value;
    if (!max || point.value > *max) max = point.value;
  }
};

constexpr std::string_view kAddToSummary =
    "INSERT INTO metric_summary (run, name, count, last_step, last_time, last_value, last_special, "
    "min_value, "
    "max_value) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, name) DO UPDATE SET "
    "count = metric_summary.count + excluded.count, last_step = excluded.last_step, "
    "last_time = excluded.last_time, last_value = excluded.last_value, last_special = excluded.last_special, "
    "last_kind = 'number', "
    "min_value = CASE WHEN excluded.min_value IS NULL OR metric_summary.min_value < excluded.min_value "
    "THEN metric_summary.min_value ELSE excluded.min_value END, "
    "max_value = CASE WHEN excluded.max_value IS NULL OR metric_summary.max_value > excluded.max_value "
    "THEN metric_summary.max_value ELSE excluded.max_value END";

// A metric without a number has a row all the same, for the list of names; its last value says nothing.
constexpr std::string_view kCountValue =
    "INSERT INTO metric_summary (run, name, count, last_step, last_time, value_count, last_kind) "
    "VALUES (?, ?, 0, 0, 0, 1, ?) ON CONFLICT (run, name) DO UPDATE SET "
    "value_count = metric_summary.value_count + 1, last_kind = excluded.last_kind RETURNING count";

class SqlMetricStore final : public MetricStore {
 public:
  explicit SqlMetricStore(store::Database& database) : database_(database) {}

  Result<size_t> append(store::Writer& writer, const RunId& run,
                        const std::vector<journal::MetricPoint>& points) override {
    size_t left_out = 0;
    std::map<std::string_view, Addition> additions;
    for (const journal::MetricPoint& point : points) {
      if (!check_metric_name(point.name)) {
        ++left_out;
        continue;
      }
      SLIPWAY_TRY(writer.run(
          "INSERT INTO metric_points (run, name, step, time, value, special) VALUES (?, ?, ?, ?, ?, ?)",
          {run, point.name, point.step, point.time, number_or_null(point.value), special_text(point.value)}));
      additions[point.name].take(point);
    }
    for (const auto& [name, addition] : additions)
      SLIPWAY_TRY(
          writer.run(kAddToSummary, {run, name, addition.count, addition.last->step, addition.last->time,
                                     number_or_null(addition.last->value), special_text(addition.last->value),
                                     addition.min, addition.max}));
    return left_out;
  }

  Result<size_t> append_values(store::Writer& writer, const RunId& run,
                               const std::vector<journal::LoggedValue>& values) override {
    size_t left_out = 0;
    for (const journal::LoggedValue& value : values) {
      if (!check_metric_name(value.name)) {
        ++left_out;
        continue;
      }
      int64_t points_before = 0;
      SLIPWAY_TRY(writer.query(kCountValue, {run, value.name, to_text(value.kind)},
                               [&](const store::Row& row) { points_before = row.integer(0); }));
      SLIPWAY_TRY(writer.run(
          "INSERT INTO metric_values (run, name, kind, step, time, value, points_before) "
          "VALUES (?, ?, ?, ?, ?, ?, ?)",
          {run, value.name, to_text(value.kind), value.step, value.time, value.document, points_before}));
    }
    return left_out;
  }

  Status append_sample(store::Writer& writer, const RunId& run, int rank, Timestamp time,
                       std::string_view sample) override {
    return writer.run("INSERT INTO resource_samples (run, rank, time, sample) VALUES (?, ?, ?, ?)",
                      {run, rank, time, sample});
  }

  Status delete_run(store::Writer& writer, const RunId& run) override {
    for (const std::string_view statement :
         {"DELETE FROM metric_points WHERE run = ?", "DELETE FROM metric_values WHERE run = ?",
          "DELETE FROM metric_summary WHERE run = ?", "DELETE FROM metric_sources WHERE run = ?",
          "DELETE FROM resource_samples WHERE run = ?"})
      SLIPWAY_TRY(writer.run(statement, {run}));
    return {};
  }

  Result<std::vector<Summary>> summaries(const RunId& run, std::string_view after, int64_t limit) override {
    std::vector<Summary> found;
    const auto take = [&](const store::Row& row) {
      found.push_back({.name = std::string(row.text(0)),
                       .count = row.integer(1),
                       .value_count = row.integer(8),
                       .last_kind = std::string(row.text(9)),
                       .last_step = row.integer(2),
                       .last_time = row.time(3),
                       .last_value = value_at(row, 4, 5),
                       .min = maybe_real(row, 6),
                       .max = maybe_real(row, 7)});
    };
    SLIPWAY_TRY(database_.read([&](store::Reader& reader) {
      return reader.query(
          "SELECT name, count, last_step, last_time, last_value, last_special, min_value, max_value, "
          "value_count, last_kind FROM metric_summary WHERE run = ? AND name > ? ORDER BY name LIMIT ?",
          {run, after, limit}, take);
    }));
    return found;
  }

  Result<std::vector<StoredPoint>> points(const RunId& run, std::string_view name, int64_t after,
                                          int64_t limit) override {
    return read_points(
        "SELECT position, name, step, time, value, special FROM metric_points "
        "WHERE run = ? AND name = ? AND position > ? ORDER BY position LIMIT ?",
        {run, name, after, limit});
  }

  Result<std::vector<StoredPoint>> points_after(const RunId& run, int64_t after, int64_t limit) override {
    return read_points(
        "SELECT position, name, step, time, value, special FROM metric_points "
        "WHERE run = ? AND position > ? ORDER BY position LIMIT ?",
        {run, after, limit});
  }

  Result<std::vector<StoredValue>> values(const RunId& run, std::string_view name, int64_t after,
                                          int64_t limit) override {
    std::vector<StoredValue> found;
    const auto take = [&](const store::Row& row) {
      found.push_back(
          {.position = row.integer(0),
           .value = {.name = std::string(row.text(1)),
                     .kind = journal::value_kind_from_text(row.text(2)).value_or(journal::ValueKind::kString),
                     .step = row.integer(3),
                     .time = row.time(4),
                     .document = std::string(row.text(5))},
           .points_before = row.integer(6)});
    };
    std::string sql =
        "SELECT position, name, kind, step, time, value, points_before FROM metric_values WHERE run = ? ";
    store::Values values{run};
    if (!name.empty()) {
      sql += "AND name = ? ";
      values.emplace_back(name);
    }
    values.emplace_back(after);
    values.emplace_back(limit);
    SLIPWAY_TRY(database_.read([&](store::Reader& reader) {
      return reader.query(sql + "AND position > ? ORDER BY position LIMIT ?", values, take);
    }));
    return found;
  }

  Result<std::vector<ResourceSample>> samples(const RunId& run, int64_t after, int64_t limit) override {
    std::vector<ResourceSample> found;
    const auto take = [&](const store::Row& row) {
      found.push_back({.position = row.integer(0),
                       .rank = static_cast<int>(row.integer(1)),
                       .time = row.time(2),
                       .sample = std::string(row.text(3))});
    };
    SLIPWAY_TRY(database_.read([&](store::Reader& reader) {
      return reader.query(
          "SELECT position, rank, time, sample FROM resource_samples "
          "WHERE run = ? AND position > ? ORDER BY position LIMIT ?",
          {run, after, limit}, take);
    }));
    return found;
  }

 private:
  Result<std::vector<StoredPoint>> read_points(std::string_view sql, const store::Values& values) {
    std::vector<StoredPoint> found;
    const auto take = [&](const store::Row& row) {
      found.push_back({.position = row.integer(0),
                       .name = std::string(row.text(1)),
                       .step = row.integer(2),
                       .time = row.time(3),
                       .value = value_at(row, 4, 5)});
    };
    SLIPWAY_TRY(database_.read([&](store::Reader& reader) { return reader.query(sql, values, take); }));
    return found;
  }

  store::Database& database_;
};

}  // namespace

Result<size_t> append_entries(MetricStore& metrics, store::Writer& writer, const RunId& run,
                              const std::vector<journal::Entry>& entries) {
  size_t left_out = 0;
  std::vector<journal::MetricPoint> points;
  std::vector<journal::LoggedValue> values;
  // Both are gathered as long as one kind follows itself: appending many at once is much cheaper.
  const auto store_gathered = [&]() -> Status {
    SLIPWAY_ASSIGN(const size_t bad_points, metrics.append(writer, run, points));
    SLIPWAY_ASSIGN(const size_t bad_values, metrics.append_values(writer, run, values));
    left_out += bad_points + bad_values;
    points.clear();
    values.clear();
    return {};
  };
  for (const journal::Entry& entry : entries) {
    const auto* point = std::get_if<journal::MetricPoint>(&entry);
    if (point != nullptr ? !values.empty() : !points.empty()) SLIPWAY_TRY(store_gathered());
    if (point != nullptr)
      points.push_back(*point);
    else
      values.push_back(std::get<journal::LoggedValue>(entry));
  }
  SLIPWAY_TRY(store_gathered());
  return left_out;
}

std::unique_ptr<MetricStore> make_sql_metric_store(store::Database& database) {
  return std::make_unique<SqlMetricStore>(database);
}

}  // namespace slipway::metrics

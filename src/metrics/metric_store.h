// What runs log as numbers and as other values, and what they use of their node. Kept behind this interface
// so that a columnar store can take its place.
//
// Invariants
//   1. A point is appended in the transaction that moves its journal's offset: none is lost, none is kept
//   twice.
//   2. Positions grow in the order of appending and are never used again, so that a reader resumes after one.
//   3. Every double comes back as it was, NaN, the infinities and -0 included.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "journal/record.h"
#include "journal/value.h"
#include "store/database.h"

namespace slipway::metrics {

struct StoredPoint {
  int64_t position = 0;
  std::string name;
  int64_t step = 0;
  Timestamp time;
  double value = 0;
};

// Texts, rows, tables, images and documents have positions of their own.
struct StoredValue {
  int64_t position = 0;
  journal::LoggedValue value;
  int64_t points_before = 0;  // how many numbers of that name came before it
};

struct Summary {
  std::string name;
  int64_t count = 0;        // of numbers; 0: what follows about the last one says nothing
  int64_t value_count = 0;  // of other values
  std::string last_kind;    // of whatever came last: "number" or a ValueKind
  int64_t last_step = 0;
  Timestamp last_time;
  double last_value = 0;
  std::optional<double> min;  // of the finite values; nullopt when there are none
  std::optional<double> max;
};

struct ResourceSample {
  int64_t position = 0;
  int rank = 0;
  Timestamp time;
  std::string sample;  // JSON, as the supervisor wrote it
};

// 1 to 1024 bytes of UTF-8 without control characters. Everything else is a good name: it is text, never a
// path.
Status check_metric_name(std::string_view name);

// A number, or "NaN", "Infinity", "-Infinity", which JSON numbers cannot say.
json::value value_to_json(double value);
Result<double> value_from_json(const json::value& value);

// Thread-safe. Reads see what is committed.
class MetricStore {
 public:
  virtual ~MetricStore() = default;

  // Points with a bad name are left out, so that one of them cannot hold up a journal; their number is
  // returned. Whoever takes points from a client checks the names first.
  virtual Result<size_t> append(store::Writer& writer, const RunId& run,
                                const std::vector<journal::MetricPoint>& points) = 0;
  // The same for other values.
  virtual Result<size_t> append_values(store::Writer& writer, const RunId& run,
                                       const std::vector<journal::LoggedValue>& values) = 0;
  virtual Status append_sample(store::Writer& writer, const RunId& run, int rank, Timestamp time,
                               std::string_view sample) = 0;
  virtual Status delete_run(store::Writer& writer, const RunId& run) = 0;

  // By name, those behind `after`; "" for the first ones.
  virtual Result<std::vector<Summary>> summaries(const RunId& run, std::string_view after, int64_t limit) = 0;
  // Of one metric, by position.
  virtual Result<std::vector<StoredPoint>> points(const RunId& run, std::string_view name, int64_t after,
                                                  int64_t limit) = 0;
  // Of all of a run's metrics, by position: for streams.
  virtual Result<std::vector<StoredPoint>> points_after(const RunId& run, int64_t after, int64_t limit) = 0;
  // Values other than numbers, by position: of one metric, or of all when `name` is empty.
  virtual Result<std::vector<StoredValue>> values(const RunId& run, std::string_view name, int64_t after,
                                                  int64_t limit) = 0;
  virtual Result<std::vector<ResourceSample>> samples(const RunId& run, int64_t after, int64_t limit) = 0;
};

// Points and other values in the order they were logged. The number that was left out, as above.
Result<size_t> append_entries(MetricStore& metrics, store::Writer& writer, const RunId& run,
                              const std::vector<journal::Entry>& entries);

// In the metadata store itself, which outlives it.
std::unique_ptr<MetricStore> make_sql_metric_store(store::Database& database);

}  // namespace slipway::metrics

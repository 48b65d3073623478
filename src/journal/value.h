// What a run logs besides points: texts, rows, tables, images and the documents of well-known charts.
//
// One entry of a client's list, over HTTP and in a job alike:
//   {"name": "loss", "value": 0.12, "step": 7, "time": 1763199000000000}
//   {"name": "note", "kind": "string", "value": "warm"}
//   {"name": "epoch", "kind": "row", "value": {"loss": 0.1, "phase": "train"}}
//   {"name": "curve", "kind": "table", "value": {"x": [1, 2], "y": [0.5, {"number": "NaN"}]}}
//   {"name": "samples", "kind": "image", "value": {"path": "outputs/samples.png"}}
//   {"name": "matrix", "kind": "confusion_matrix", "value": {"schema_type": "confusion_matrix", ...}}
// A cell of a row or a table is a number, a text, true, false or null; a number that JSON cannot say is
// written
// {"number": "NaN"}, so that the text "NaN" stays a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "journal/record.h"

namespace slipway::journal {

enum class ValueKind {
  kString,
  kRow,
  kTable,
  kImage,
  kConfusionMatrix,
  kAccuracyTable,
  kResiduals,
  kPredictions,
};

inline constexpr ValueKind kAllValueKinds[] = {
    ValueKind::kString,          ValueKind::kRow,           ValueKind::kTable,     ValueKind::kImage,
    ValueKind::kConfusionMatrix, ValueKind::kAccuracyTable, ValueKind::kResiduals, ValueKind::kPredictions,
};

std::string_view to_text(ValueKind kind);  // "confusion_matrix"
std::optional<ValueKind> value_kind_from_text(std::string_view text);

constexpr size_t kMaxValueText = 2 << 20;  // of one value as JSON

struct LoggedValue {
  std::string name;
  ValueKind kind = ValueKind::kString;
  int64_t step = 0;
  Timestamp time;
  std::string document;  // JSON
};

// In the order of logging.
using Entry = std::variant<MetricPoint, LoggedValue>;

// A number, or "NaN", "Infinity", "-Infinity"; nullopt for anything else.
std::optional<double> number_from_json(const json::value& value);

// Checks all but the characters of the name. `now` is the time of an entry that brings none.
Result<Entry> entry_from_json(const json::value& value, Timestamp now);

// The payload of a values record: a JSON array of entries.
std::string encode_values(const std::vector<LoggedValue>& values);
Result<std::vector<LoggedValue>> parse_values(std::string_view payload);

}  // namespace slipway::journal

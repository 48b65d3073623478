// What a dataset is, as its owner said it: where to look, and what to do with what is found. Stored with each
// version beside the manifest that came of it.
//
//   {"kind": "file", "paths": ["images:train/**/*.jpg"],
//    "operations": [{"op": "sample", "fraction": 0.1, "seed": 7}, {"op": "take", "count": 1000}]}
//
// A path is an http(s) address, DATASTORE:PATH (a file, a folder, or with * and ** a pattern), or PATH in the
// default datastore. A table has more to say: how its files are read, by the Python side (docs/data.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace slipway::data {

constexpr size_t kMaxPaths = 10'000;
constexpr size_t kMaxOperations = 64;

enum class OperationKind { kTake, kSkip, kSample, kSplit, kFilter };

struct Operation {
  OperationKind kind = OperationKind::kTake;
  uint64_t count = 0;     // take, skip, and sample where no fraction is given
  double fraction = 0;    // sample, split: 0 < fraction < 1
  uint64_t seed = 0;      // sample, split
  bool rest = false;      // split: the files that the other part does not have
  std::string pattern;    // filter by path; empty: any
  uint64_t min_size = 0;  // filter by size, both included
  uint64_t max_size = UINT64_MAX;
  bool operator==(const Operation&) const = default;
};

json::object to_json(const Operation& operation);
Result<Operation> operation_from_json(const json::object& object);

enum class TableFormat { kDelimited, kParquet, kJsonLines };

// How the rows of a tabular dataset come out of its files.
struct Table {
  TableFormat format = TableFormat::kDelimited;
  std::string separator = ",";
  bool header = true;
  std::vector<std::string> keep;  // columns; empty: all
  std::vector<std::string> drop;
  std::map<std::string, std::string> types;  // column -> string, integer, float, boolean, datetime
  uint64_t skip_rows = 0;
  std::optional<uint64_t> take_rows;
  bool operator==(const Table&) const = default;
};

json::object to_json(const Table& table);
Result<Table> table_from_json(const json::object& object);
std::string_view to_text(TableFormat format);  // "delimited", "parquet", "json_lines"

struct Definition {
  std::vector<std::string> paths = {};
  std::vector<Operation> operations = {};
  std::optional<Table> table = {};  // nullopt: a file dataset
  std::string from = {};            // "mnist:2" when it was made from that version
  bool operator==(const Definition&) const = default;
};

json::object to_json(const Definition& definition);
// Checks everything but whether the paths are there.
Result<Definition> definition_from_json(const json::object& object);

// A reference to a dataset: "mnist" or "mnist:2".
struct DatasetRef {
  std::string name;
  std::optional<int> version;  // nullopt: the newest
};
Result<DatasetRef> parse_dataset_ref(std::string_view text);

// A path of a definition taken apart. `datastore` is empty for an address, and "default" where none is named.
struct DataPath {
  bool is_url = false;
  std::string datastore = {};
  std::string path = {};  // below the datastore, may be empty or a pattern; or the whole address
};
Result<DataPath> parse_data_path(std::string_view text);

}  // namespace slipway::data

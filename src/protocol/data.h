// Data of a run: what a job names, and what a node is told to place.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace slipway {

enum class DataMode {
  kMount,
  kDownload,
  kDirect
};  // direct: no placing; the job gets the reference as it is
std::string_view to_text(DataMode mode);
Result<DataMode> data_mode_from_text(std::string_view text);

// An input as a job names it. The submission replaces a missing version by the newest, so that the run's
// record says which one it was.
struct JobInput {
  std::string dataset;  // "mnist" or "mnist:2"
  DataMode mode = DataMode::kMount;
  std::string path;    // where on the node; empty: Slipway's choice. Relative: below the working folder
  bool verify = true;  // false: content that no longer matches the version is used all the same
  bool operator==(const JobInput&) const = default;
};

enum class OutputMode { kUpload, kMount };

// A folder the job writes, kept in a datastore, and registered as a dataset version when asked.
struct JobOutput {
  std::string datastore;  // empty: the workspace's default
  std::string path;       // below it; empty: "dataset/{run-id}/{output-name}"
  OutputMode mode = OutputMode::kUpload;
  std::string register_as;  // name of a dataset; empty: none
  bool overwrite = false;
  bool operator==(const JobOutput&) const = default;
};

// Keys are the names the job knows them by: identifiers ([A-Za-z_][A-Za-z0-9_]*, 255 at most).
using JobInputs = std::map<std::string, JobInput>;
using JobOutputs = std::map<std::string, JobOutput>;

// {"mnist": {"dataset": "mnist:2", "mode": "mount", "path": "", "verify": true}}
json::object to_json(const JobInputs& inputs);
Result<JobInputs> job_inputs_from_json(const json::object& object);
// {"model": {"datastore", "path", "mode": "upload", "register_as", "overwrite"}}
json::object to_json(const JobOutputs& outputs);
Result<JobOutputs> job_outputs_from_json(const json::object& object);

// What an attempt's order says about one input. The files themselves are in the version's manifest, which the
// agent asks for with the run's token.
struct InputOrder {
  std::string name;
  std::string dataset;
  int version = 1;
  std::string manifest;  // digest of the version's manifest
  uint64_t files = 0;
  uint64_t bytes = 0;
  JobInput wanted;
};

json::object to_json(const InputOrder& order);
Result<InputOrder> input_order_from_json(const json::object& object);

}  // namespace slipway

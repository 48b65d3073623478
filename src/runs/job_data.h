// The data a job names: checked and pinned when it is submitted, told to its nodes when they claim it, and
// kept with the run.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "protocol/data.h"
#include "runs/run.h"
#include "store/database.h"

namespace slipway::runs {

// Replaces each input's dataset by the version that is meant now, and each output's datastore by its own
// name, and looks at what the command names as ${inputs.NAME} and ${outputs.NAME}. kNotFound and
// kInvalidArgument, naming the input or output.
Status pin_data(store::Reader& reader, const WorkspaceName& workspace, Job& job);
// The command's references alone: pure.
Status check_references(const Job& job);

// Remembers which versions the run reads.
Status record_inputs(store::Writer& writer, const Run& run);
// What its nodes are told.
Result<std::vector<InputOrder>> input_orders(store::Reader& reader, const Run& run);

// Where an output of the run lies in its datastore: the job's path with {run-id} and {output-name} filled in.
std::string output_path(const Run& run, const std::string& output);

// {"inputs": [{"name", "dataset", "version", "mode", "verify", "path", ...}], "outputs": [...]} of the run's
// record: `path` and what else the node said once it has placed the input, the version an output was
// registered as.
Result<json::object> describe_data(store::Reader& reader, const Run& run);

// What goes with a deleted run. Datasets that it made stay.
Status delete_run_data(store::Writer& writer, const RunId& run);

}  // namespace slipway::runs

// Where a model comes from: the files that a run has kept, and what its record says of code and data.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "runs/run.h"
#include "snapshot/manifest.h"
#include "store/database.h"

namespace slipway::models {

// The kept files at `path`, a file or a folder, as a manifest whose one entry at the top is called as the
// last part of the path. No bytes are read. kInvalidArgument for a path that leaves the run's files,
// kNotFound when nothing is there.
Result<snapshot::Manifest> manifest_of_run(store::Reader& reader, const runs::Run& run,
                                           const std::string& path);

// {"snapshot", "git", "command", "environment"} of the run.
json::object code_of(const runs::Run& run);

// The datasets it read, by the names of its inputs: {"mnist": "mnist:2"}.
Result<std::map<std::string, std::string>> datasets_of(store::Reader& reader, const runs::Run& run);

}  // namespace slipway::models

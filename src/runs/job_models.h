// The models a job names: pinned to versions when it is submitted, told to its nodes when they claim it, and
// kept with the run.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "protocol/model.h"
#include "runs/run.h"
#include "store/database.h"

namespace slipway::runs {

// The version that is meant: the newest where none is named. kNotFound.
Result<ModelOrder> find_model(store::Reader& reader, const WorkspaceName& workspace,
                              const ModelReference& reference);

// Replaces each model of the job by the version that is meant now, and looks at what the command names as
// ${models.NAME}. kNotFound and kInvalidArgument.
Status pin_models(store::Reader& reader, const WorkspaceName& workspace, Job& job);

// Remembers which versions the run is given.
Status record_models(store::Writer& writer, const Run& run);
// What its nodes are told.
Result<std::vector<ModelOrder>> model_orders(store::Reader& reader, const Run& run);

// Whether the manifest is one of a model that the run is given: its token may read it.
Result<bool> is_given(store::Reader& reader, const Run& run, const std::string& manifest);

}  // namespace slipway::runs

// What came of what: which runs made and used a model, what holds it, and the models of a run.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "models/model.h"
#include "store/database.h"

namespace slipway::models {

// A service, or whatever else must not lose a version, holds it under a name such as "service/digits-svc".
// Repeating is harmless. kNotFound when the version is not there.
Status hold_model(store::Writer& writer, const WorkspaceName& workspace, const ModelReference& model,
                  const std::string& holder, Timestamp now);
Status release_model(store::Writer& writer, const WorkspaceName& workspace, const ModelReference& model,
                     const std::string& holder);
// All that the holder holds.
Status release_models(store::Writer& writer, const WorkspaceName& workspace, const std::string& holder);

// kConflict, naming who, while something holds the version or an active run uses it.
Status check_unused(store::Reader& reader, const ModelVersion& model);

// {"used_by": [run ids of users' runs, newest first], "services": [names]}: at most 100 of each.
Result<json::object> describe_uses(store::Reader& reader, const ModelVersion& model);

// {"registered": ["digits:3"], "used": ["digits:2"]}: the models that came of a run, and those it was given.
Result<json::object> models_of_run(store::Reader& reader, const RunId& run);

// ["digits:3"]: the versions that were made from a dataset's version, newest first; at most 100.
Result<json::array> models_of_dataset(store::Reader& reader, const WorkspaceName& workspace,
                                      const std::string& dataset, int version);

}  // namespace slipway::models

// Where a version is tried and served.
#pragma once

#include <string>

#include "models/model.h"
#include "store/database.h"

namespace slipway::models {

// The environment that the version names; else that of the run it came from, when that has the framework or
// is kept by the user; else the curated one of its framework. Empty for a custom model that names none.
Result<std::string> serving_environment(store::Reader& reader, const ModelVersion& model);

}  // namespace slipway::models

// What the routes about models read from a request.
#pragma once

#include "base/json.h"
#include "http/message.h"
#include "models/model_table.h"
#include "models/registry.h"

namespace slipway::routes {

// The reference in the path: NAME or NAME:VERSION.
Result<ModelReference> model_reference_of(const http::Request& request);

// limit, cursor, name, framework, dataset, latest, tag=key=value, and tags and properties as JSON objects
// whose values are texts, or null for any. The run is the caller's to resolve.
Result<models::ModelFilter> model_filter_of(const http::Request& request);

// All of a registration but the workspace, the run, the caller and the key. `run`: what the body names as
// such; only where `takes_run` says so.
Result<models::NewModel> new_model_of(const json::object& body, bool takes_run, std::string& run);
Result<models::ModelChange> model_change_of(const json::object& body);

}  // namespace slipway::routes

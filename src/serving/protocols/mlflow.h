// MLflow's model server: /invocations with dataframe_split, dataframe_records, instances or inputs; /ping,
// /health and /version.
#pragma once

#include "http/router.h"
#include "serving/served_model.h"

namespace slipway::serving {

// `served` outlives the routes.
void add_mlflow_routes(http::Router& router, ServedModel& served, uint64_t body_limit);

}  // namespace slipway::serving

// Azure ML's web service: /score, /swagger.json and the health check at /. What /score takes is what Azure's
// services without code take: {"instances"} or {"inputs"} as TensorFlow Serving, {"inputs": {NAME: {"dims",
// "dataType", "rawData"}}} as ONNX Runtime's server, {"data": rows} for scikit-learn; and whatever it likes
// for an entry script.
#pragma once

#include "http/router.h"
#include "serving/served_model.h"

namespace slipway::serving {

Result<Inference> read_score(const ServedModel& served, const http::Request& request);
// {"message": "..."}
http::Response azure_refusal(const Error& error);

// `served` outlives the routes.
void add_azure_routes(http::Router& router, ServedModel& served, uint64_t body_limit);

}  // namespace slipway::serving

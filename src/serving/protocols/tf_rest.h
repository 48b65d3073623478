// TensorFlow Serving's REST protocol: predict in row and column form, classify, regress, metadata, status.
#pragma once

#include "http/router.h"
#include "serving/served_model.h"

namespace slipway::serving {

// The body of `:predict`. Also what Azure ML's no-code services for TensorFlow take at /score.
Result<Inference> read_predict(const ServedModel& served, const http::Request& request);
// {"error": "..."}
http::Response tf_refusal(const Error& error);

// /v1/models/... `served` outlives the routes.
void add_tf_routes(http::Router& router, ServedModel& served, uint64_t body_limit);

}  // namespace slipway::serving

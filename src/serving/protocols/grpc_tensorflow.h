// TensorFlow Serving's gRPC services, PredictionService and ModelService, one call a route. The numbers of
// the fields are those of its published messages.
#pragma once

#include "http/router.h"
#include "serving/served_model.h"

namespace slipway::serving {

// A PredictRequest.
Result<Inference> read_grpc_predict(const ServedModel& served, std::string_view message);

// `served` outlives the routes.
void add_grpc_tensorflow_routes(http::Router& router, ServedModel& served, uint64_t body_limit);

}  // namespace slipway::serving

// Open Inference's gRPC service, inference.GRPCInferenceService, one call a route. The numbers of the fields
// are those of the protocol's description.
#pragma once

#include "http/router.h"
#include "serving/served_model.h"

namespace slipway::serving {

// A ModelInferRequest.
Result<Inference> read_model_infer(const ServedModel& served, std::string_view message);

// `served` outlives the routes.
void add_grpc_open_inference_routes(http::Router& router, ServedModel& served, uint64_t body_limit);

}  // namespace slipway::serving

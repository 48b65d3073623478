// The Open Inference Protocol (v2 of KServe and Triton) over REST, with binary tensors.
#pragma once

#include "http/router.h"
#include "serving/served_model.h"

namespace slipway::serving {

// /v2/... `served` outlives the routes.
void add_open_inference_routes(http::Router& router, ServedModel& served, uint64_t body_limit);

// The body of an inference request: JSON and, behind its first `json_length` bytes, the binary tensors.
Result<Inference> read_open_inference(const ServedModel& served, const std::string& body, size_t json_length);

}  // namespace slipway::serving

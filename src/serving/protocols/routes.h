// All that a served model answers, whatever the protocol.
#pragma once

#include "http/router.h"
#include "serving/served_model.h"

namespace slipway::serving {

// `served` outlives the routes. `body_limit` is that of one request.
void add_routes(http::Router& router, ServedModel& served, uint64_t body_limit);

}  // namespace slipway::serving

// Requests for models that are their own code: passed on as they came.
#pragma once

#include "http/router.h"
#include "serving/served_model.h"

namespace slipway::serving {

void call_raw(ServedModel& served, http::Response (*refuse)(const Error&), http::Request& request,
              http::Answer answer);

}  // namespace slipway::serving

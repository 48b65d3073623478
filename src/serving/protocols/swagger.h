// A description of the service in Swagger 2.0, as Azure ML's services have at /swagger.json.
#pragma once

#include "base/json.h"
#include "serving/served_model.h"

namespace slipway::serving {

json::object swagger(const ServedModel& served);

}  // namespace slipway::serving

// What the Open Inference Protocol says about the model, in its words: what it takes and gives, how it is
// configured, how it has done, whether it is ready.
#pragma once

#include "base/json.h"
#include "serving/served_model.h"

namespace slipway::serving::open_inference {

json::object metadata(const ServedModel& served);
json::object config(const ServedModel& served);
json::object statistics(const ServedModel& served);
json::object readiness(const ServedModel& served);
json::object health(const ServedModel& served);  // the server's
json::array repository_index(const ServedModel& served);

}  // namespace slipway::serving::open_inference

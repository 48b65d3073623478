// The model server as a role of the program: it serves until SIGTERM or SIGINT.
#pragma once

#include "base/result.h"
#include "serving/model_server.h"

namespace slipway::roles {

Status run_model_server(const serving::ServeSettings& settings);

}  // namespace slipway::roles

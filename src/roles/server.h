// The control plane: builds its object graph over a home and runs until it is told to stop.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "cli/cli.h"

namespace slipway::roles {

// Returns after SIGTERM, SIGINT or POST /api/v1/shutdown. kConflict when another server holds the home.
Status run_server(const cli::ServerSettings& settings);

// The route table as JSON: [{"method", "pattern", "access"}]. For the check against api/openapi.yaml.
json::array describe_routes();

}  // namespace slipway::roles

#pragma once

#include "cli/context.h"

namespace slipway::cli {

void add_join_command(Command root, Context& context);

}  // namespace slipway::cli

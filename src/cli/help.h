// What `--help` prints, from the tree of commands.
#pragma once

#include <string>

#include "cli/command.h"

namespace slipway::cli {

// Usage, what it does, commands, arguments, options, examples. `width`: columns to wrap at; 0: none.
std::string help_text(const CommandNode& node, int width, bool colour);

}  // namespace slipway::cli

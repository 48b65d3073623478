// `slipway __complete WORDS...`: what the completion scripts call. Not a command of the tree, since its words
// are another line's.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"

namespace slipway::cli {

// One candidate on a line, with a tab and what it is. Quiet when there is no server.
int print_completions(Context& context, const std::vector<std::string>& words);

}  // namespace slipway::cli

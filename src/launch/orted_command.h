// What mpirun wants a remote-start agent to run on another node is a line for a shell. No shell sees it here:
// it is taken apart, and only the arguments of orted are kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace slipway::launch {

// The arguments of orted in the words mpirun calls its agent with, after the host. kInvalidArgument when it
// is another program, or words that only a shell would understand.
Result<std::vector<std::string>> orted_arguments(const std::vector<std::string>& words);

// Which rank mpirun says was the first to fail, in what it printed; -1: it names none.
int failed_rank_in(std::string_view printed);

}  // namespace slipway::launch

// The parts of the mpi launcher that run as processes of the job (launch/launcher_mpi.cc): this program under
// a first word of its own. Each gives the code to exit with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace slipway::node {

// `slipway mpi-start -- HOST COMMAND...`: mpirun's remote-start agent. Has orted started on that node and
// stays until it has ended, as a remote shell would.
Result<int> start_on_node(const std::vector<std::string>& words);

// `slipway mpi-node`: waits for the one request to start orted here, and sees it to its end. 0 however orted
// ends by itself, since mpirun says how the run went; else 1.
Result<int> wait_for_mpirun();

// `slipway mpi-rank -- COMMAND...`: the parent of a rank that orted or mpirun have started. Sees it to its
// end, tells the node's supervisor when it failed by itself, and ends as it did: by the same signal, or with
// the code that is given.
Result<int> see_rank_through(const std::vector<std::string>& command);

// Plays the part that the first word names, and gives the code to exit with; nullopt: it names none of them.
std::optional<int> play_mpi_part(const std::vector<std::string>& words);

}  // namespace slipway::node

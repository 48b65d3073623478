// The command as it is, once on every node; who the others are is in the in-job variables.
#include "launch/launcher.h"

namespace slipway::launch {

Result<Launch> launch_none(const LaunchInput& input) {
  const Job& job = input.order.job;
  const int rank = input.order.key.rank;
  ProcessSpec process{.rank = rank, .argv = input.command, .log = log_of(job, rank)};
  process.environment = rank_variables(job, rank, 0);
  return Launch{.processes = {std::move(process)}};
}

}  // namespace slipway::launch

// What the runs that wait for a dedicated cluster are about to take of the machine: what they would be given
// now, or as soon as a node has come up, if no run of low rank were in their way. Clusters of low priority
// leave it to them; otherwise a run that has just given way would take its place back before the one it left
// for has come.
#pragma once

#include <span>

#include "compute/scheduler.h"

namespace slipway::compute {

Amount awaited_room(const WaitingRuns& queue, std::span<const NodeView> nodes, ClusterView cluster);

}  // namespace slipway::compute

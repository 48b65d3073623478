#include "compute/awaited_room.h"

#include "compute/slots.h"

namespace slipway::compute {

Amount awaited_room(const WaitingRuns& queue, std::span<const NodeView> nodes, ClusterView cluster) {
  Amount room;
  if (queue.empty()) return room;
  cluster.use = {};
  for (const Placement& placement : schedule(queue, with_nodes_to_come(nodes, cluster), cluster).placements)
    for (const Grant& grant : placement.grants) room += to_amount(grant.granted);
  return room;
}

}  // namespace slipway::compute

// An agent on a node that an engine has lent for one attempt: `slipway agent --allocation`, started inside
// the allocation on each of its nodes.
//
// What it needs comes by variables (compute/engines/slurm/job.cc): SLIPWAY_AGENT_URL, _REQUEST, _TOKENS by
// rank, _SCRATCH, _SHARED and _CA; which rank it is, and what the node may use, say Slurm's own. It makes the
// node's folder from them and becomes the guard of the agent proper:
//   1. An agent that dies is started again and finds its attempt; one that ends well ends the allocation.
//   2. As subreaper the guard keeps the tree of processes whole, so that an engine which follows parents
//   finds
//      all of it. A guard that is killed takes its agent with it.
//   3. The node's folder goes with it. What killed agents have left of earlier nodes is cleared away first.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "protocol/node.h"

namespace slipway::node {

// Returns when the attempt is over.
Status run_allocation();

// What Slurm has granted on this node, as its variables tell it; what they do not tell is the machine's.
struct LentNode {
  int rank = 0;
  NodeCapacity capacity;
  std::vector<int> gpu_indices;
};
LentNode lent_node(const std::map<std::string, std::string>& variables, const NodeCapacity& machine);

}  // namespace slipway::node

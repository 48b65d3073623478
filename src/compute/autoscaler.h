// How many nodes a cluster should have: a pure function of demand, nodes, limits and the monotonic clock.
//
// Invariants
//   1. Never more than max nodes, counting those that start, drain or are lost and not yet gone.
//   2. Idle nodes are never let go below min.
//   3. A node is stopped only when it has been draining, so that nothing new was sent to it, and holds no
//      attempt; or when it never came up or is lost.
//   4. While runs wait, no node of the right size is let go, unless there are more than max.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"

namespace slipway::compute {

enum class NodeState { kStarting, kIdle, kBusy, kDraining, kLost };

struct ScalerNode {
  NodeId id;
  NodeState state = NodeState::kStarting;
  Monotonic since;  // starting: of its start; idle: of its last work
  bool holds_attempts = false;
  bool outdated = false;  // its size is not the cluster's any more: let go as soon as it is idle
};

struct ScalerLimits {
  int min_nodes = 0;
  int max_nodes = 1;
  Duration idle = std::chrono::minutes(2);
  Duration start_timeout = std::chrono::seconds(60);  // a node that has not registered by then is given up
};

// Failed starts double the wait before the next, from one second to five minutes. Kept by the caller for each
// cluster.
struct StartBackoff {
  int failures = 0;
  Monotonic not_before{};

  void failed(Monotonic now);
  void succeeded() { *this = {}; }
};

struct ScalerInput {
  int nodes_wanted = 0;  // beyond those accepting: see scheduler.h
  bool runs_wait = false;
  std::vector<ScalerNode> nodes;
  ScalerLimits limits;
  StartBackoff backoff;
  Monotonic now;
};

struct ScalerDecision {
  int start = 0;
  std::vector<NodeId> drain;           // mark as draining, then ask again
  std::vector<NodeId> stop;            // drained and empty, or lost: let the engine stop them
  std::vector<NodeId> give_up;         // did not come up in time: stop, and count a failed start
  std::optional<Monotonic> ask_again;  // when time alone changes the answer
};

ScalerDecision scale(const ScalerInput& input);

}  // namespace slipway::compute

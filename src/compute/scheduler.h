// Who gets which nodes: pure functions from (queue, nodes, cluster) to placements and to the reason for each
// run that waits. One cluster at a time; the caller carries the placements out and asks again on the next
// change.
//
// The order is that of WaitingRuns: by rank, and first in, first out within one; with back-filling that
// cannot delay the head:
//   1. Runs are placed from the front for as long as they fit. A run gets all its nodes at once or none.
//   2. The first run that does not fit is the head. It keeps the nodes it will be given first, those with
//      the most free, as many as it asks for: none of the runs behind it may use them, free as they may
//      be in part.
//   3. Runs behind the head may use the other nodes, in order, within a look-ahead of kLookAhead runs.
//   4. Hence no run is overtaken for ever by those behind it: on kept nodes nothing new starts, a node is
//   exchanged for
//      another only when that one is freer, so what is free for the head grows until it fits; then the
//      next run is the head.
//   5. A run that the cluster can never hold (it was made smaller since) is passed over and holds nothing
//      up.
//   6. Where clusters share one machine, runs are placed only as machine_room.h lets them.
//   7. A share goes to the fullest node that has room for it, so that whole nodes stay free for those who
//      need them.
//
// The cost is about the placements made plus look-ahead x nodes, whatever the length of the queue.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "compute/allocator.h"
#include "compute/cluster.h"
#include "compute/machine_room.h"
#include "compute/shares.h"
#include "compute/waiting_runs.h"
#include "protocol/node.h"

namespace slipway::compute {

constexpr size_t kLookAhead = 64;

struct NodeView {
  NodeId id;
  Amount total;
  Amount free;
  std::vector<int> free_gpus;  // indices, ascending; as many as free.gpus
  bool accepting = false;      // registered, not draining, heard from recently
  bool starting = false;       // on its way up
};

struct ClusterView {
  ClusterName name;
  int max_nodes = 1;
  Amount node_size;  // of a node started now
  Amount machine;    // no cluster here can have larger nodes
  Priority priority = Priority::kDedicated;
  MachineUse use =
      {};              // by all clusters of the machine, this one included; empty: they have nothing to share
  Moment moment = {};  // that the order of the queue is of
  bool elsewhere = false;  // its nodes are not of this machine: `machine` is the largest of them
  // Why no node comes up at the moment: "the agent ended at once, 3 times"; mostly empty.
  std::string start_problem;
};

// `joined`: the machines that came by themselves, beyond the nodes that the cluster's limits count.
ClusterView cluster_view(const ClusterSpec& spec, const Machine& machine,
                         const std::vector<Amount>& joined = {});
// For a cluster whose engine has its own nodes. While it has not told of them, nothing is too large.
void take_size(ClusterView& view, const AllocatorStatus& status);

struct Placement {
  int64_t seq = 0;
  RunId run;
  std::vector<Grant> grants;  // by rank; distinct nodes
};

struct SchedulerResult {
  std::vector<Placement> placements;
};

SchedulerResult schedule(const WaitingRuns& queue, std::span<const NodeView> nodes,
                         const ClusterView& cluster);

// Whether a run waits that the cluster can hold. Runs that can never be placed are not waited for.
bool runs_wait(const WaitingRuns& queue, const ClusterView& cluster);

// How many more nodes than those accepting the queue could use now, starting ones included, within max_nodes:
// what the autoscaler takes as demand. To be asked after the placements have been taken out of queue and
// nodes.
int nodes_wanted(const WaitingRuns& queue, std::span<const NodeView> nodes, const ClusterView& cluster);

// Why that run waits, as a sentence without a full stop: "cpu-cluster has 4 of 4 nodes busy; 2 runs before
// this one". Empty when it does not wait.
std::string why(const WaitingRuns& queue, int64_t seq, std::span<const NodeView> nodes,
                const ClusterView& cluster);

// Whether such a job can ever be placed there; said at submission. kInvalidArgument names what is too large,
// and what to do.
Status check_fits(const Job& job, const ClusterView& cluster);

}  // namespace slipway::compute

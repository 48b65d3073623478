// Who gives way to whom: a pure function, asked after all that fits has been placed.
//
// Invariants
//   1. A run gives way only to one of a higher rank (standing.h), and only when nothing else is to be had:
//      neither what is free, nor what those that end already will leave, nor a node that may still be
//      started.
//   2. Nobody gives way for nothing: with the chosen ones gone, the scheduler itself would place the run
//      they go for.
//   3. Of the runs that could go, those of the lowest rank go, as few of them as will do, and of these the
//      ones that started last.
//   4. Asked again while they are on their way out, it chooses nobody else.
#pragma once

#include <span>
#include <vector>

#include "compute/scheduler.h"
#include "compute/standing.h"

namespace slipway::compute {

// A run that has nodes, as the runs that wait for one cluster see it.
struct Candidate {
  const HeldRun* held = nullptr;
  int standing = 0;
  bool here = false;  // on nodes of that cluster; otherwise elsewhere on the same machine
};

struct Preemption {
  RunId victim;
  RunId by;  // waits for its room
};

// `candidates`: all that have nodes of this cluster and, where clusters share a machine, of the others there.
std::vector<Preemption> choose_victims(const WaitingRuns& queue, std::span<const NodeView> nodes,
                                       const ClusterView& cluster, std::span<const Candidate> candidates);

}  // namespace slipway::compute

// The nodes of a cluster while placements are being worked out: views with what is left of each. Used by the
// scheduler alone.
#pragma once

#include <span>
#include <vector>

#include "compute/scheduler.h"

namespace slipway::compute {

struct Slot {
  const NodeView* view = nullptr;  // null: a node that is yet to come
  Amount total;
  Amount free;
  size_t gpus_taken = 0;  // from the front of view->free_gpus
  bool kept = false;      // for the head of the queue

  // From 0, nothing, to the number of kinds of resource, all of each.
  double freeness() const;
};

// Of those that accept work.
std::vector<Slot> slots_of(std::span<const NodeView> nodes);

// The nodes as they will be once those on their way, and those that may still be started, are there. Where
// nodes do not come up there is nothing to wait for.
std::vector<NodeView> with_nodes_to_come(std::span<const NodeView> nodes, const ClusterView& cluster);

// Whether a cluster with such nodes can hold the run at all.
bool can_ever_fit(const WaitingRun& run, const ClusterView& cluster);

// Whether a run of a cluster of low priority has waited its way up to those of dedicated ones.
bool has_risen(const WaitingRun& run, const ClusterView& cluster);

// Where the run could go now: the fullest slots that have room and are not kept, at most as many as it asks
// for. Fewer than that: it cannot be placed.
std::vector<Slot*> find_room(std::vector<Slot>& slots, const WaitingRun& run);

// Takes what the run asks for from a slot that has it.
void take(Slot& slot, const Amount& share);

// Marks the slots the run will be given first, and none else.
void keep_for(std::vector<Slot>& slots, const WaitingRun& run);

}  // namespace slipway::compute

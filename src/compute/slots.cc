#include "compute/slots.h"

#include <algorithm>
#include <numeric>

#include "compute/standing.h"

namespace slipway::compute {

namespace {

// Ties go by place among the slots, which pointers into them tell.
std::pair<double, const Slot*> by_freeness(const Slot* slot) {
  return {slot->freeness(), slot};
}

}  // namespace

double Slot::freeness() const {
  const auto part = [](auto left, auto whole) {
    return whole > 0 ? static_cast<double>(left) / static_cast<double>(whole) : 1.0;
  };
  return part(free.milli_cpus, total.milli_cpus) + part(free.memory_bytes, total.memory_bytes) +
         part(free.gpus, total.gpus);
}

std::vector<Slot> slots_of(std::span<const NodeView> nodes) {
  std::vector<Slot> slots;
  slots.reserve(nodes.size());
  for (const NodeView& node : nodes)
    if (node.accepting) slots.push_back({.view = &node, .total = node.total, .free = node.free});
  return slots;
}

std::vector<NodeView> with_nodes_to_come(std::span<const NodeView> nodes, const ClusterView& cluster) {
  std::vector<NodeView> all(nodes.begin(), nodes.end());
  if (!cluster.start_problem.empty()) return all;
  for (NodeView& node : all) node.accepting = node.accepting || node.starting;
  std::vector<int> gpus(static_cast<size_t>(cluster.node_size.gpus));
  std::iota(gpus.begin(), gpus.end(), 0);
  while (std::ssize(all) < cluster.max_nodes)
    all.push_back({.id = {},
                   .total = cluster.node_size,
                   .free = cluster.node_size,
                   .free_gpus = gpus,
                   .accepting = true});
  return all;
}

bool can_ever_fit(const WaitingRun& run, const ClusterView& cluster) {
  return run.nodes <= cluster.max_nodes && share_of(run.asked, cluster.node_size).fits_in(cluster.node_size);
}

bool has_risen(const WaitingRun& run, const ClusterView& cluster) {
  const Duration waited(cluster.moment.now.micros - run.since.micros);
  return cluster.priority == Priority::kLow && aged_rank(rank_of(cluster.priority, run.priority), waited,
                                                         cluster.moment.ageing) >= kLowestDedicatedRank;
}

std::vector<Slot*> find_room(std::vector<Slot>& slots, const WaitingRun& run) {
  const auto count = static_cast<size_t>(run.nodes);
  std::vector<Slot*> room;
  for (Slot& slot : slots) {
    if (slot.kept || !share_of(run.asked, slot.total).fits_in(slot.free)) continue;
    room.push_back(&slot);
    if (count > 1 || room.size() == 1) continue;
    // One node is asked for: only the fullest so far need be remembered.
    room = {std::ranges::min(room[0], room[1], {}, &Slot::freeness)};
  }
  if (room.size() > count) {
    std::ranges::sort(room, {}, by_freeness);
    room.resize(count);
  }
  return room;
}

void take(Slot& slot, const Amount& share) {
  slot.free -= share;
  slot.gpus_taken += static_cast<size_t>(share.gpus);
}

void keep_for(std::vector<Slot>& slots, const WaitingRun& run) {
  std::vector<Slot*> usable;
  for (Slot& slot : slots)
    if (share_of(run.asked, slot.total).fits_in(slot.total)) usable.push_back(&slot);
  std::ranges::sort(usable, {}, [](const Slot* slot) { return std::pair(-slot->freeness(), slot); });
  usable.resize(std::min(usable.size(), static_cast<size_t>(run.nodes)));
  for (Slot* slot : usable) slot->kept = true;
}

}  // namespace slipway::compute

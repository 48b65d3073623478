#include "compute/scheduler.h"

#include <algorithm>
#include <limits>

#include "compute/slots.h"

namespace slipway::compute {

namespace {

// Of the queue, when nodes are counted for it: with so many waiting, the answer is "as many as allowed" in
// any case that matters.
constexpr size_t kMostCounted = 1024;

Placement place(const WaitingRun& run, const std::vector<Slot*>& room) {
  Placement placement{.seq = run.seq, .run = run.run, .grants = {}};
  placement.grants.reserve(room.size());
  for (Slot* slot : room) {
    const Amount share = share_of(run.asked, slot->total);
    const auto first = slot->view->free_gpus.begin() + static_cast<std::ptrdiff_t>(slot->gpus_taken);
    placement.grants.push_back(
        {.node = slot->view->id, .granted = to_resources(share), .gpu_indices = {first, first + share.gpus}});
    take(*slot, share);
  }
  return placement;
}

Amount total_of(const WaitingRun& run, const std::vector<Slot*>& room) {
  Amount total;
  for (const Slot* slot : room) total += share_of(run.asked, slot->total);
  return total;
}

bool any_room(const std::vector<Slot>& slots) {
  return std::ranges::any_of(slots, [](const Slot& slot) { return !slot.kept && slot.free.milli_cpus > 0; });
}

}  // namespace

ClusterView cluster_view(const ClusterSpec& spec, const Machine& machine, const std::vector<Amount>& joined) {
  ClusterView view{.name = spec.name,
                   .max_nodes = spec.max_nodes,
                   .node_size = to_amount(node_size(spec, machine).capacity),
                   .machine = to_amount(NodeCapacity{.cpus = machine.cpus,
                                                     .memory_bytes = machine.memory_bytes,
                                                     .gpus = static_cast<int>(machine.gpus.size()),
                                                     .gpu_names = {}}),
                   .priority = spec.priority,
                   .use = {},
                   .moment = {},
                   .elsewhere = false,
                   .start_problem = ""};
  // Of a cluster that consists of them alone nothing else is ever started.
  if (spec.max_nodes == 0) view.node_size = view.machine = {};
  view.max_nodes += static_cast<int>(joined.size());
  for (const Amount& amount : joined) {
    for (Amount* largest : {&view.node_size, &view.machine}) {
      largest->milli_cpus = std::max(largest->milli_cpus, amount.milli_cpus);
      largest->memory_bytes = std::max(largest->memory_bytes, amount.memory_bytes);
      largest->gpus = std::max(largest->gpus, amount.gpus);
    }
  }
  return view;
}

void take_size(ClusterView& view, const AllocatorStatus& status) {
  view.elsewhere = true;
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max() / 4;
  view.node_size =
      status.nodes && status.nodes->total > 0
          ? to_amount(status.nodes->largest)
          : Amount{.milli_cpus = kAny, .memory_bytes = kAny, .gpus = std::numeric_limits<int>::max()};
  view.machine = view.node_size;
}

SchedulerResult schedule(const WaitingRuns& queue, std::span<const NodeView> nodes,
                         const ClusterView& cluster) {
  SchedulerResult result;
  std::vector<Slot> slots = slots_of(nodes);
  MachineRoom machine(cluster.use, cluster.priority);
  bool head_waits = false;
  size_t behind_head = 0;
  WaitingRuns::Cursor runs = queue.in_order(cluster.moment);
  while (const WaitingRun* const next = runs.next()) {
    const WaitingRun& run = *next;
    if (!any_room(slots) || (head_waits && ++behind_head > kLookAhead)) break;
    const std::vector<Slot*> room = find_room(slots, run);
    const bool has_nodes = room.size() == static_cast<size_t>(run.nodes);
    if (has_nodes && machine.take(total_of(run, room), has_risen(run, cluster))) {
      result.placements.push_back(place(run, room));
    } else if (!head_waits && can_ever_fit(run, cluster)) {
      keep_for(slots, run);
      if (has_nodes) machine.close();
      head_waits = true;
    }
  }
  return result;
}

bool runs_wait(const WaitingRuns& queue, const ClusterView& cluster) {
  WaitingRuns::Cursor runs = queue.in_order(cluster.moment);
  while (const WaitingRun* const run = runs.next())
    if (can_ever_fit(*run, cluster)) return true;
  return false;
}

int nodes_wanted(const WaitingRuns& queue, std::span<const NodeView> nodes, const ClusterView& cluster) {
  const auto starting = std::ranges::count_if(nodes, &NodeView::starting);
  const int most = cluster.max_nodes - static_cast<int>(std::ssize(nodes) - starting);
  const Slot fresh{.total = cluster.node_size, .free = cluster.node_size};
  std::vector<Slot> slots = slots_of(nodes);
  int wanted = 0;
  WaitingRuns::Cursor runs = queue.in_order(cluster.moment);
  for (size_t i = 0; i < kMostCounted && wanted < most; ++i) {
    const WaitingRun* const next = runs.next();
    if (next == nullptr) break;
    const WaitingRun& run = *next;
    if (!can_ever_fit(run, cluster)) continue;
    // Full slots are of no use to anybody; without them the search stays short, however many nodes there are.
    std::erase_if(slots, [](const Slot& slot) { return slot.free.milli_cpus <= 0; });
    std::vector<Slot*> room = find_room(slots, run);
    const int missing = std::min(run.nodes - static_cast<int>(room.size()), most - wanted);
    if (missing > 0) {
      slots.insert(slots.end(), static_cast<size_t>(missing), fresh);
      room = find_room(slots, run);
      wanted += missing;
    }
    for (Slot* slot : room) take(*slot, share_of(run.asked, slot->total));
  }
  return wanted;
}

}  // namespace slipway::compute

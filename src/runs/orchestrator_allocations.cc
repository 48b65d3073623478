// The part of the orchestrator that deals with engines which find the nodes of a run by themselves.
//
//   waiting run -> allocation asked for -> its nodes register -> the run is placed on them -> the attempt is
//   over -> the allocation is let go -> nothing is left of it in the engine -> its nodes and tokens are
//   removed
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "compute/cluster_store.h"
#include "runs/orchestrator.h"
#include "runs/run_table.h"

namespace slipway::runs {

using compute::AllocationEnd;
using compute::AllocationKey;
using compute::ClusterKey;

namespace {

// After its attempt is over an agent ends at once; one that was cut off is given this long.
constexpr Duration kTimeToLeave = std::chrono::seconds(20);

compute::AllocationRequest request_for(const StoredAllocation& stored, const Run& run) {
  return {.key = stored.key,
          .id = stored.request,
          .nodes = stored.nodes,
          .low_priority = run.job.priority == JobPriority::kLow,
          .asked = run.job.resources,
          .time_limit = run.job.timeout};
}

}  // namespace

// Whether a run was placed on its allocation, and still needs it, follows from the run alone.
Status Orchestrator::load_allocations(store::Reader& reader) {
  SLIPWAY_ASSIGN(const auto stored, all_allocations(reader));
  const std::lock_guard lock(mutex_);
  for (const StoredAllocation& one : stored) {
    const auto run = load_run(reader, one.key.run);
    const bool waits = run && run->state == RunState::kQueued && run->attempt + 1 == one.key.attempt;
    const bool holds = run && holds_nodes(run->state) && run->attempt == one.key.attempt;
    allocations_[one.key] = {.stored = one,
                             .placed = run && run->attempt >= one.key.attempt,
                             .over = !waits && !holds,
                             .let_go = false,
                             .gone = std::nullopt};
    requests_[one.request] = one.key;
    arrived_.insert(one.key);
  }
  return {};
}

// The mutex is held. Before `start` there is no factory yet.
void Orchestrator::open_allocator(Cluster& cluster) {
  if (!make_allocator_ || cluster.spec.engine == compute::EngineKind::kLocal) return;
  if (cluster.allocator != nullptr) return cluster.allocator->cluster_changed(cluster.spec);
  cluster.allocator = make_allocator_(
      cluster.spec, [this](const compute::AllocationEvent& event) { allocation_event(event); });
  for (const auto& [key, allocation] : allocations_) {
    if (allocation.stored.cluster != cluster.spec.key()) continue;
    // Should it have to be submitted again, the run's own record says what for.
    Run run;
    const Status read = database_.read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(run, load_run(reader, key.run));
      return {};
    });
    if (!read) log_warning("allocation.without_run", {{"run", key.run}, {"error", read.error()}});
    cluster.allocator->take_up(request_for(allocation.stored, run), "", allocation.placed);
  }
}

std::optional<Monotonic> Orchestrator::tend_allocations(const ClusterKey& key) {
  const bool placed = place_arrived(key);
  auto again = request_allocations(key);
  let_allocations_go(key);
  for (const auto& due :
       {remove_gone(key),
        placed ? std::nullopt : std::optional(clock_.monotonic() + std::chrono::seconds(1))})
    if (due) again = again ? std::min(*again, *due) : *due;
  return again;
}

std::optional<compute::Placement> Orchestrator::placement_for(const Allocation& allocation) const {
  compute::Placement placement{.seq = 0, .run = allocation.stored.key.run, .grants = {}};
  for (int rank = 0; rank < allocation.stored.nodes; ++rank) {
    const auto node = nodes_.find(compute::allocated_node(allocation.stored.request, rank));
    if (!node || !node->record.registered) return std::nullopt;
    const NodeCapacity& capacity = node->record.capacity;
    placement.grants.push_back(
        {.node = node->record.id,
         .granted = {.cpus = capacity.cpus, .memory_bytes = capacity.memory_bytes, .gpus = capacity.gpus},
         .gpu_indices = node->record.gpu_indices});
  }
  return placement;
}

bool Orchestrator::place_arrived(const ClusterKey& key) {
  std::vector<compute::Placement> placements;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(arrived_, [&](const AllocationKey& arrived) {
      const auto found = allocations_.find(arrived);
      if (found == allocations_.end() || found->second.placed || found->second.over) return true;
      if (found->second.stored.cluster != key) return false;
      if (auto placement = placement_for(found->second)) {
        const auto cluster = clusters_.find(key);
        cluster->second.allocator->nodes_are_up(arrived);
        placements.push_back(std::move(*placement));
      }
      return true;
    });
    auto queue = clusters_.at(key).queue.in_order(view_of(clusters_.at(key)).moment);
    while (const compute::WaitingRun* run = placements.empty() ? nullptr : queue.next())
      for (compute::Placement& placement : placements)
        if (run->run == placement.run) placement.seq = run->seq;
  }
  if (placements.empty()) return true;
  const Status placed = place(key, placements);
  if (placed) return true;
  log_error("dispatch.failed", {{"cluster", key.name}, {"error", placed.error()}});
  const std::lock_guard lock(mutex_);
  for (const auto& [allocation, entry] : allocations_)
    if (entry.stored.cluster == key && !entry.placed) arrived_.insert(allocation);
  return false;
}

std::optional<Monotonic> Orchestrator::request_allocations(const ClusterKey& key) {
  std::vector<RunId> chosen;
  std::shared_ptr<compute::Allocator> allocator;
  {
    const std::lock_guard lock(mutex_);
    const Cluster& cluster = clusters_.at(key);
    if (clock_.monotonic() < cluster.backoff.not_before) return cluster.backoff.not_before;
    int held = 0;
    std::set<RunId> asked;
    for (const auto& [allocation, entry] : allocations_) {
      if (entry.stored.cluster != key) continue;
      // One of an earlier attempt stands in nobody's way.
      if (!entry.over || !entry.placed) asked.insert(allocation.run);
      if (!entry.over) held += entry.stored.nodes;
    }
    auto queue = cluster.queue.in_order(view_of(cluster).moment);
    while (const compute::WaitingRun* run = queue.next()) {
      if (asked.contains(run->run)) continue;
      if (held + run->nodes > cluster.spec.max_nodes) break;
      held += run->nodes;
      chosen.push_back(run->run);
    }
    allocator = cluster.allocator;
  }
  if (chosen.empty()) return std::nullopt;

  std::vector<std::pair<StoredAllocation, compute::AllocationRequest>> made;
  const Status written = database_.write([&](store::Writer& writer) -> Status {
    made.clear();
    for (const RunId& id : chosen) {
      const auto run = load_run(writer, id);
      if (!run || run->state != RunState::kQueued) continue;
      StoredAllocation stored{.key = {.run = id, .attempt = run->attempt + 1},
                              .cluster = key,
                              .request = compute::new_node_id(key.name).str(),
                              .nodes = run->job.nodes};
      const NodeCapacity capacity{.cpus = run->job.resources.cpus,
                                  .memory_bytes = run->job.resources.memory_bytes,
                                  .gpus = run->job.resources.gpus,
                                  .gpu_names = {}};
      // Remembered first: a server that dies here finds it, and asks whether it was submitted.
      SLIPWAY_TRY(insert_allocation(writer, stored, capacity, clock_.now()));
      made.emplace_back(stored, request_for(stored, *run));
    }
    return {};
  });
  if (!written) {
    log_error("allocation.not_stored", {{"cluster", key.name}, {"error", written.error()}});
    return clock_.monotonic() + std::chrono::seconds(1);
  }
  for (const auto& [stored, request] : made) {
    for (int rank = 0; rank < stored.nodes; ++rank) {
      compute::NodeRecord node;
      node.id = compute::allocated_node(stored.request, rank);
      node.cluster = key;
      node.capacity = {.cpus = request.asked.cpus,
                       .memory_bytes = request.asked.memory_bytes,
                       .gpus = 0,  // which ones is known when the node registers
                       .gpu_names = {}};
      node.created_at = clock_.now();
      nodes_.add(std::move(node));
    }
    {
      const std::lock_guard lock(mutex_);
      allocations_[stored.key].stored = stored;
      requests_[stored.request] = stored.key;
    }
    allocator->request(request);
  }
  return std::nullopt;
}

// The mutex is held.
void Orchestrator::note_allocation_over(const AllocationKey& key) {
  const auto found = allocations_.find(key);
  if (found == allocations_.end() || found->second.over) return;
  found->second.over = true;
  wake(found->second.stored.cluster);
}

void Orchestrator::let_allocations_go(const ClusterKey& key) {
  std::vector<StoredAllocation> leaving;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [allocation, entry] : allocations_) {
      if (entry.stored.cluster != key || !entry.over || entry.let_go) continue;
      entry.let_go = true;
      clusters_.at(key).allocator->release(allocation, entry.placed ? kTimeToLeave : Duration::zero());
      leaving.push_back(entry.stored);
    }
  }
  for (const StoredAllocation& stored : leaving) {
    for (int rank = 0; rank < stored.nodes; ++rank) {
      const NodeId node = compute::allocated_node(stored.request, rank);
      nodes_.set_draining(node);
      notifier_.notify(node_topic(node));
    }
  }
}

// Where its agents may live on, because a node was cut off from the engine, their nodes stay known until they
// are silent: they have to be told that their attempt is fenced.
std::optional<Monotonic> Orchestrator::remove_gone(const ClusterKey& key) {
  std::vector<StoredAllocation> gone;
  std::optional<Monotonic> again;
  {
    const std::lock_guard lock(mutex_);
    const std::vector<NodeId> silent = nodes_.silent_for(times_.heartbeat * 3);
    for (const auto& [allocation, entry] : allocations_) {
      if (entry.stored.cluster != key || !entry.gone || !entry.over) continue;
      bool speaks = false;
      for (int rank = 0; *entry.gone != AllocationEnd::kDone && rank < entry.stored.nodes; ++rank) {
        const auto node = nodes_.find(compute::allocated_node(entry.stored.request, rank));
        speaks |= node && node->record.registered && node->heard_since_start &&
                  node->state != compute::NodeState::kLost &&
                  std::ranges::find(silent, node->record.id) == silent.end();
      }
      if (speaks) {
        again = clock_.monotonic() + times_.heartbeat;
      } else {
        gone.push_back(entry.stored);
      }
    }
  }
  if (gone.empty()) return again;
  const Status written = database_.write([&](store::Writer& writer) -> Status {
    for (const StoredAllocation& stored : gone) SLIPWAY_TRY(delete_allocation(writer, stored, clock_.now()));
    return {};
  });
  if (!written) {
    log_error("allocation.not_deleted", {{"cluster", key.name}, {"error", written.error()}});
    return clock_.monotonic() + std::chrono::seconds(1);
  }
  {
    const std::lock_guard lock(mutex_);
    for (const StoredAllocation& stored : gone) {
      allocations_.erase(stored.key);
      requests_.erase(stored.request);
      arrived_.erase(stored.key);
      for (int rank = 0; rank < stored.nodes; ++rank) {
        const NodeId node = compute::allocated_node(stored.request, rank);
        nodes_.remove(node);
        silent_.erase(node);
        missing_once_.erase(node);
      }
    }
    wake(key);  // a run that still waits is asked for again
  }
  forget_cluster_without_nodes(key);
  return again;
}

std::optional<compute::AllocatorStatus> Orchestrator::engine_status(const ClusterKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = clusters_.find(key);
  if (found == clusters_.end() || found->second.allocator == nullptr) return std::nullopt;
  return found->second.allocator->status();
}

void Orchestrator::end_waiting_allocations(Duration within) {
  std::vector<std::shared_ptr<compute::Allocator>> allocators;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, cluster] : clusters_)
      if (cluster.allocator != nullptr) allocators.push_back(cluster.allocator);
  }
  for (const auto& allocator : allocators) allocator->end_waiting(within);
  // Forgotten, whether Slurm has said so or not: what comes up after all has a token that is dead.
  std::vector<StoredAllocation> forgotten;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, allocation] : allocations_)
      if (!allocation.placed) forgotten.push_back(allocation.stored);
  }
  const Status written = database_.write([&](store::Writer& writer) -> Status {
    for (const StoredAllocation& stored : forgotten)
      SLIPWAY_TRY(delete_allocation(writer, stored, clock_.now()));
    return {};
  });
  if (!written) log_error("allocation.not_deleted", {{"error", written.error()}});
}

void Orchestrator::close_engines() {
  std::vector<std::shared_ptr<compute::Allocator>>
      closing;  // ends without the lock: it may be telling something
  const std::lock_guard lock(mutex_);
  for (auto& [key, cluster] : clusters_) closing.push_back(std::move(cluster.allocator));
  make_allocator_ = {};
}

// The mutex is held.
std::string Orchestrator::why_allocated_run_waits(const Cluster& cluster, const Run& run) const {
  const auto found = allocations_.find({.run = run.id, .attempt = run.attempt + 1});
  if (found != allocations_.end() && !found->second.over)
    if (const auto view = cluster.allocator->find(found->first)) return view->waiting_because;
  if (!cluster.start_problem.empty())
    return fmt::format("no node of {} comes up: {}", cluster.spec.name, cluster.start_problem);
  int held = 0;
  for (const auto& [key, allocation] : allocations_)
    if (allocation.stored.cluster == cluster.spec.key() && !allocation.over) held += allocation.stored.nodes;
  if (held + run.job.nodes > cluster.spec.max_nodes)
    return fmt::format("{} has {} of {} nodes in use or asked for", cluster.spec.name, held,
                       cluster.spec.max_nodes);
  return "about to be asked for";
}

}  // namespace slipway::runs

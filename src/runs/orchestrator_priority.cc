// The part of the orchestrator that knows who has nodes, and lets them give way.
#include <fmt/format.h>

#include "base/failpoint.h"
#include "base/log.h"
#include "runs/orchestrator.h"
#include "runs/run_table.h"

namespace slipway::runs {

using compute::ClusterKey;

namespace {

ClusterKey key_of(const Run& run) {
  return {run.workspace, run.job.compute};
}

// Whether its nodes will be free without anybody's doing.
bool is_leaving(const Run& run) {
  return run.gives_way_to || run.state == RunState::kFinalizing || run.state == RunState::kCancelRequested;
}

}  // namespace

void Orchestrator::run_placed(const Run& run, const std::vector<Part>& parts) {
  const Timestamp placed_at = run.started_at.value_or(clock_.now());
  compute::HeldRun held{.seq = run.seq,
                        .run = run.id,
                        .priority = run.job.priority,
                        .waited = Duration(placed_at.micros - run.waiting_since.micros),
                        .started_at = run.started_at,
                        .preemptions = run.preemptions,
                        .leaving = is_leaving(run),
                        .gives_way_to = run.gives_way_to.value_or(RunId()),
                        .grants = {}};
  for (const Part& part : parts) held.grants.push_back({part.node, part.granted, part.gpu_indices});
  const std::lock_guard lock(mutex_);
  if (const auto found = clusters_.find(key_of(run)); found != clusters_.end())
    found->second.held.insert_or_assign(run.id, std::move(held));
}

void Orchestrator::attempt_moved(const Run& run) {
  const std::lock_guard lock(mutex_);
  const auto found = clusters_.find(key_of(run));
  if (found == clusters_.end()) return;
  const auto held = found->second.held.find(run.id);
  if (held == found->second.held.end()) return;
  held->second.started_at = run.started_at;
  held->second.leaving = is_leaving(run);
  held->second.gives_way_to = run.gives_way_to.value_or(RunId());
}

void Orchestrator::attempt_is_over(const Run& run) {
  for (int rank = 0; rank < run.job.nodes; ++rank)
    nodes_.release({.run = run.id, .attempt = run.attempt, .rank = rank});
  const std::lock_guard lock(mutex_);
  note_allocation_over({.run = run.id, .attempt = run.attempt});
  if (const auto found = clusters_.find(key_of(run)); found != clusters_.end())
    found->second.held.erase(run.id);
  wake(key_of(run));
  if (!machine_is_shared()) return;
  for (const auto& [key, cluster] : clusters_)
    if (!cluster.queue.empty()) wake(key);
}

// While all clusters are dedicated, they share the machine as they will. Those whose nodes are elsewhere have
// no part in it.
bool Orchestrator::machine_is_shared() const {
  return std::ranges::any_of(clusters_, [](const auto& entry) {
    return entry.second.spec.priority == compute::Priority::kLow &&
           entry.second.spec.engine == compute::EngineKind::kLocal;
  });
}

compute::MachineUse Orchestrator::machine_use() const {
  compute::MachineUse use;
  if (!machine_is_shared()) return use;
  const Timestamp now = clock_.now();
  use.machine = compute::to_amount(NodeCapacity{.cpus = machine_.cpus,
                                                .memory_bytes = machine_.memory_bytes,
                                                .gpus = static_cast<int>(machine_.gpus.size()),
                                                .gpu_names = {}});
  for (const auto& [key, cluster] : clusters_) {
    if (cluster.spec.engine != compute::EngineKind::kLocal) continue;
    for (const auto& [id, held] : cluster.held) {
      const int standing = compute::standing_of(held, cluster.spec.priority, now, times_.ageing);
      for (const compute::Grant& grant : held.grants)
        (standing >= compute::kLowestDedicatedRank ? use.dedicated : use.low) +=
            compute::to_amount(grant.granted);
    }
  }
  return use;
}

std::vector<compute::Candidate> Orchestrator::candidates_for(const ClusterKey& key) const {
  std::vector<compute::Candidate> candidates;
  const Timestamp now = clock_.now();
  const bool shared = machine_is_shared();
  for (const auto& [other, cluster] : clusters_) {
    if (other != key && (!shared || cluster.spec.engine != compute::EngineKind::kLocal)) continue;
    for (const auto& [id, held] : cluster.held)
      candidates.push_back({.held = &held,
                            .standing = compute::standing_of(held, cluster.spec.priority, now, times_.ageing),
                            .here = other == key});
  }
  return candidates;
}

// False: it could not be written down, and is to be tried again.
bool Orchestrator::make_way(const ClusterKey& key) {
  const auto views = nodes_.scheduler_view(key);
  std::vector<compute::Preemption> chosen;
  {
    const std::lock_guard lock(mutex_);
    const auto found = clusters_.find(key);
    if (found == clusters_.end() || found->second.queue.empty()) return true;
    chosen = compute::choose_victims(found->second.queue, views, view_of(found->second), candidates_for(key));
  }
  if (chosen.empty()) return true;
  const Status asked = database_.write([&](store::Writer& writer) -> Status {
    for (const compute::Preemption& preemption : chosen) {
      SLIPWAY_ASSIGN(Run victim, load_run(writer, preemption.victim));
      SLIPWAY_ASSIGN(const Run by, load_run(writer, preemption.by));
      // Both may have moved on: what waits no longer needs nothing, and what ends already is not asked.
      if (by.state != RunState::kQueued || !holds_nodes(victim.state)) continue;
      SLIPWAY_ASSIGN(const Verdict verdict, transitions_.preempt(writer, victim, by));
      if (verdict != Verdict::kIgnore) log_info("run.gives_way", {{"run", victim.id}, {"to", by.id}});
    }
    return {};
  });
  SLIPWAY_FAILPOINT("preempt.after_commit");
  if (!asked) log_error("preempt.failed", {{"cluster", key.name}, {"error", asked.error()}});
  return asked.has_value();
}

}  // namespace slipway::runs

#include "compute/preemption.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "compute/slots.h"

namespace slipway::compute {

namespace {

// Of those that could go alone, so many are tried one by one.
constexpr size_t kMostTriedAlone = 64;

// The cluster as it would be with some runs gone and every node there that may still come.
struct Future {
  std::vector<NodeView> nodes;
  ClusterView cluster;

  void leave(const Candidate& gone);
};

void Future::leave(const Candidate& gone) {
  for (const Grant& grant : gone.held->grants) {
    const Amount amount = to_amount(grant.granted);
    (gone.standing >= kLowestDedicatedRank ? cluster.use.dedicated : cluster.use.low) -= amount;
    if (!gone.here) continue;
    const auto node = std::ranges::find(nodes, grant.node, &NodeView::id);
    if (node == nodes.end()) continue;
    node->free += amount;
    node->free_gpus.insert(node->free_gpus.end(), grant.gpu_indices.begin(), grant.gpu_indices.end());
    std::ranges::sort(node->free_gpus);
  }
}

class Choice {
 public:
  Choice(const WaitingRuns& queue, std::span<const NodeView> nodes, const ClusterView& cluster,
         std::span<const Candidate> candidates)
      : queue_(queue), future_{.nodes = with_nodes_to_come(nodes, cluster), .cluster = cluster} {
    for (const Candidate& candidate : candidates) {
      if (candidate.held->leaving)
        future_.leave(candidate);
      else
        candidates_.push_back(&candidate);
    }
    // Those who would go first come first.
    std::ranges::sort(candidates_, {}, [](const Candidate* candidate) {
      const HeldRun& run = *candidate->held;
      const int64_t started = run.started_at ? run.started_at->micros : INT64_MAX;
      return std::tuple(candidate->standing, -started, -run.seq);
    });
  }

  std::vector<Preemption> choose() {
    std::vector<Preemption> chosen;
    if (candidates_.empty()) return chosen;
    std::set<int64_t> placed = placed_in(future_);
    WaitingRuns::Cursor runs = queue_.in_order(future_.cluster.moment);
    size_t waiting = 0;
    while (const WaitingRun* const run = runs.next()) {
      if (placed.contains(run->seq)) continue;
      if (++waiting > kLookAhead || candidates_.empty()) break;
      const std::vector<const Candidate*> victims = victims_for(*run);
      if (victims.empty()) continue;
      for (const Candidate* victim : victims) {
        chosen.push_back({.victim = victim->held->run, .by = run->run});
        future_.leave(*victim);
        std::erase(candidates_, victim);
      }
      placed = placed_in(future_);
    }
    return chosen;
  }

 private:
  using Victims = std::vector<const Candidate*>;

  std::set<int64_t> placed_in(const Future& future) const {
    std::set<int64_t> placed;
    for (const Placement& placement : schedule(queue_, future.nodes, future.cluster).placements)
      placed.insert(placement.seq);
    return placed;
  }

  bool would_do(const WaitingRun& run, std::span<const Candidate* const> victims) const {
    Future future = future_;
    for (const Candidate* victim : victims) future.leave(*victim);
    return placed_in(future).contains(run.seq);
  }

  // Empty: nobody's leaving would help, or may be asked for.
  Victims victims_for(const WaitingRun& run) const {
    const int rank = rank_of(future_.cluster.priority, run.priority);
    Victims may_go;
    for (const Candidate* candidate : candidates_) {
      const bool in_the_way = candidate->here || candidate->standing < kLowestDedicatedRank;
      if (in_the_way && candidate->standing < rank) may_go.push_back(candidate);
    }
    for (size_t end = 0; end < may_go.size();) {
      const int standing = may_go[end]->standing;
      while (end < may_go.size() && may_go[end]->standing == standing) ++end;
      const std::span<const Candidate* const> lowest(may_go.data(), end);
      if (would_do(run, lowest)) return fewest(run, lowest);
    }
    return {};
  }

  // As few of those, who would do together, as will do; the first ones where there is a choice.
  Victims fewest(const WaitingRun& run, std::span<const Candidate* const> enough) const {
    for (const Candidate* const one : enough.first(std::min(enough.size(), kMostTriedAlone)))
      if (would_do(run, {&one, 1})) return {one};
    // The shortest beginning that will do, by halving.
    size_t too_few = 1;
    size_t will_do = enough.size();
    while (will_do - too_few > 1) {
      const size_t middle = std::midpoint(too_few, will_do);
      (would_do(run, enough.first(middle)) ? will_do : too_few) = middle;
    }
    // Then without each of those that it does not need.
    Victims chosen(enough.begin(), enough.begin() + static_cast<std::ptrdiff_t>(will_do));
    for (size_t i = 0; i < chosen.size();) {
      Victims without = chosen;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      if (would_do(run, without))
        chosen = std::move(without);
      else
        ++i;
    }
    return chosen;
  }

  const WaitingRuns& queue_;
  Future future_;
  std::vector<const Candidate*> candidates_;
};

}  // namespace

std::vector<Preemption> choose_victims(const WaitingRuns& queue, std::span<const NodeView> nodes,
                                       const ClusterView& cluster, std::span<const Candidate> candidates) {
  if (queue.empty()) return {};
  return Choice(queue, nodes, cluster, candidates).choose();
}

}  // namespace slipway::compute

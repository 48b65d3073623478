#include "compute/standing.h"

#include <algorithm>

namespace slipway::compute {

int rank_of(Priority cluster, JobPriority job) {
  return (cluster == Priority::kDedicated ? kLowestDedicatedRank : 0) + static_cast<int>(job);
}

int aged_rank(int rank, Duration waited, Duration ageing) {
  if (ageing <= Duration::zero()) return rank;
  const int64_t steps = std::max<int64_t>(waited / ageing, 0);
  return static_cast<int>(std::min<int64_t>(rank + steps, kTopRank));
}

int standing_of(const HeldRun& run, Priority cluster, Timestamp now, Duration ageing) {
  const int rank = rank_of(cluster, run.priority);
  const bool has_run = run.started_at && now.micros - run.started_at->micros >= ageing.count();
  if (has_run) return rank;
  return run.preemptions >= kMostPreemptions ? kTopRank : aged_rank(rank, run.waited, ageing);
}

}  // namespace slipway::compute

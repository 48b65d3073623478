// How runs stand to each other when room is short: arithmetic over the priority of the cluster, that of the
// job, and time. Ranks are one scale on which every run of a cluster of low priority stands below every run
// of a dedicated one:
//
//   0 low, 1 normal, 2 high    jobs on clusters of low priority
//   3 low, 4 normal, 5 high    jobs on dedicated clusters
//
// Invariants
//   1. Only a run whose own rank, whatever its age, is the higher one takes another's place. So runs of one
//      rank never push each other out in turns.
//   2. Nobody starves. A run that waits rises by one rank with each `ageing`; at the top, only those wait
//      before it that came before it. Having risen, or given way kMostPreemptions times, it then runs for
//      one `ageing` as what it had become before it can be made to give way as what it is.
//   3. Waiting counts from the submission, or from the last time that it gave way after having run for one
//      `ageing`; the short stretches in between do not set it back.
//
// Times are the wall clock's, since they outlive the server: a clock that jumps makes a run rise early or
// late, and does nothing else.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "compute/cluster.h"
#include "compute/shares.h"
#include "protocol/priority.h"

namespace slipway::compute {

constexpr int kLowestDedicatedRank = 3;
constexpr int kTopRank = 5;
// A run that has given way so often is left alone for one `ageing` each time it runs.
constexpr int kMostPreemptions = 3;
constexpr Duration kDefaultAgeing = std::chrono::minutes(30);

int rank_of(Priority cluster, JobPriority job);
// What it has risen to by waiting for that long.
int aged_rank(int rank, Duration waited, Duration ageing);

// A run that has its nodes.
struct HeldRun {
  int64_t seq = 0;
  RunId run;
  JobPriority priority = JobPriority::kNormal;
  Duration waited{0};  // before it was placed
  std::optional<Timestamp> started_at;
  int preemptions = 0;
  bool leaving = false;  // ends already: its room is as good as free
  RunId gives_way_to;    // empty: to nobody
  std::vector<Grant> grants;
};

// The rank that another must exceed to take its place.
int standing_of(const HeldRun& run, Priority cluster, Timestamp now, Duration ageing);

}  // namespace slipway::compute

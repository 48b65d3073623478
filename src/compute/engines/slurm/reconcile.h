// One look at Slurm's jobs: what has become of an allocation, and what is to be done about it.
//
// Invariants
//   1. A job is an allocation's when its comment names the request; its number alone says nothing.
//   2. Nothing is submitted while it is not known whether an earlier submission was taken: it is looked for
//      first (kUnsure). Of several jobs for one request all but one are canceled.
//   3. An allocation that Slurm has lost is lost only after two looks.
//   4. Time is on the monotonic clock.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "compute/engines/slurm/job.h"

namespace slipway::compute {

enum class TrackPhase {
  kToSubmit,
  kUnsure,    // submitted, perhaps: no answer came
  kAccepted,  // `job` is its number
};

// One allocation as it is followed.
struct Track {
  AllocationRequest request;
  int64_t order = 0;  // in which they were asked for
  TrackPhase phase = TrackPhase::kToSubmit;
  int64_t job = 0;
  bool up = false;                     // its nodes have registered
  bool canceled = false;               // Slurm was told to end it
  std::optional<Monotonic> cancel_at;  // it is not wanted: ended when it has not ended by itself by then
  int missing = 0;                     // looks in a row that did not show it
  std::optional<Monotonic> running_since;
  SlurmJob seen;
};

struct Finding {
  enum class Kind {
    kAdopted,      // `job` is the one that came of a submission whose answer was lost
    kSubmitAgain,  // Slurm does not have it
    kEnded,        // unasked
    kCancel,       // that job
    kGone,         // nothing of it is left: to be followed no longer
  };
  Kind kind;
  int64_t job = 0;
  AllocationEnd end = AllocationEnd::kDone;
  std::string reason;
};

// How long the nodes of a running job may take to register.
constexpr Duration kTimeToComeUp = std::chrono::minutes(3);

// `jobs` are those of the track's request, in any order. Changes what the track remembers.
std::vector<Finding> look(Track& track, std::span<const SlurmJob> jobs, Monotonic now);

}  // namespace slipway::compute

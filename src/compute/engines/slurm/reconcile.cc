#include "compute/engines/slurm/reconcile.h"

#include <fmt/format.h>

#include "compute/engines/slurm/states.h"

namespace slipway::compute {
namespace {

using Kind = Finding::Kind;

// The job that stands for the track: the known one, else a live one, else the last.
const SlurmJob* choose(const Track& track, std::span<const SlurmJob> jobs) {
  const SlurmJob* chosen = nullptr;
  for (const SlurmJob& job : jobs) {
    if (track.job != 0) {
      if (job.id == track.job) return &job;
      continue;
    }
    const bool live = phase_of(job) != SlurmPhase::kOver;
    const bool chosen_lives = chosen != nullptr && phase_of(*chosen) != SlurmPhase::kOver;
    if (chosen == nullptr || (live && !chosen_lives) || (live == chosen_lives && job.id > chosen->id))
      chosen = &job;
  }
  return chosen;
}

std::vector<Finding> look_at_missing(Track& track) {
  const bool wanted = !track.cancel_at;
  if (track.phase == TrackPhase::kToSubmit) {
    if (wanted) return {};
    return {{.kind = Kind::kGone, .reason = ""}};
  }
  if (track.phase == TrackPhase::kAccepted && ++track.missing < 2) return {};
  if (!wanted) return {{.kind = Kind::kGone, .reason = ""}};
  const std::string reason = fmt::format("Slurm no longer knows job {}", track.job);
  if (!track.up) return {{.kind = Kind::kSubmitAgain, .reason = track.job == 0 ? "" : reason}};
  return {{.kind = Kind::kEnded, .end = AllocationEnd::kLost, .reason = reason},
          {.kind = Kind::kGone, .end = AllocationEnd::kLost, .reason = reason}};
}

// A live job that cannot be what is wanted any more.
std::optional<Finding> found_wanting(Track& track, const SlurmJob& job, Monotonic now) {
  const SlurmPhase phase = phase_of(job);
  if (track.up && phase == SlurmPhase::kWaiting)
    return Finding{.kind = Kind::kEnded,
                   .job = job.id,
                   .end = AllocationEnd::kLost,
                   .reason = fmt::format("Slurm put job {} back into its queue", job.id)};
  if (phase != SlurmPhase::kRunning || track.up) {
    track.running_since.reset();
    return std::nullopt;
  }
  if (!track.running_since) track.running_since = now;
  if (now - *track.running_since < kTimeToComeUp) return std::nullopt;
  return Finding{.kind = Kind::kEnded,
                 .job = job.id,
                 .end = AllocationEnd::kLost,
                 .reason = fmt::format("no agent has reported from {} of Slurm job {}", job.nodes, job.id)};
}

}  // namespace

std::vector<Finding> look(Track& track, std::span<const SlurmJob> jobs, Monotonic now) {
  std::vector<Finding> findings;
  const SlurmJob* const chosen = choose(track, jobs);
  for (const SlurmJob& job : jobs)
    if (&job != chosen && phase_of(job) != SlurmPhase::kOver)
      findings.push_back({.kind = Kind::kCancel, .job = job.id, .reason = "it was submitted twice"});
  if (chosen == nullptr) {
    std::ranges::move(look_at_missing(track), std::back_inserter(findings));
    return findings;
  }

  track.missing = 0;
  track.seen = *chosen;
  if (track.phase != TrackPhase::kAccepted) {
    track.phase = TrackPhase::kAccepted;
    track.job = chosen->id;
    findings.push_back({.kind = Kind::kAdopted, .job = chosen->id, .reason = ""});
  }
  if (phase_of(*chosen) == SlurmPhase::kOver) {
    const AllocationEnd end = end_of(*chosen);
    if (!track.cancel_at)
      findings.push_back(
          {.kind = Kind::kEnded, .job = chosen->id, .end = end, .reason = end_reason(*chosen)});
    findings.push_back({.kind = Kind::kGone, .job = chosen->id, .end = end, .reason = ""});
    return findings;
  }
  if (!track.cancel_at) {
    if (auto wanting = found_wanting(track, *chosen, now)) {
      track.cancel_at = now;
      findings.push_back(std::move(*wanting));
    }
  }
  if (track.cancel_at && now >= *track.cancel_at && phase_of(*chosen) != SlurmPhase::kEnding)
    findings.push_back({.kind = Kind::kCancel, .job = chosen->id, .reason = "it is not wanted any more"});
  return findings;
}

}  // namespace slipway::compute

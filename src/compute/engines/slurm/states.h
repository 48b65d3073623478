// What Slurm's states and reasons mean here. Pure.
#pragma once

#include <string>

#include "compute/engines/slurm/job.h"

namespace slipway::compute {

enum class SlurmPhase {
  kWaiting,  // in Slurm's queue
  kBooting,  // has its nodes, which are being powered up
  kRunning,
  kEnding,  // its processes are being ended; why is told once it is over
  kOver,
};

SlurmPhase phase_of(const SlurmJob& job);

// Of a job that is over.
AllocationEnd end_of(const SlurmJob& job);
// "Slurm job 12 was canceled outside Slipway"
std::string end_reason(const SlurmJob& job);
// Why it waits, as a sentence without a full stop; empty when it runs.
std::string waiting_reason(const SlurmJob& job);

}  // namespace slipway::compute

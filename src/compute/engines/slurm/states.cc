#include "compute/engines/slurm/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace slipway::compute {
namespace {

using Meaning = std::pair<std::string_view, std::string_view>;

// Reasons that people meet. The name Slurm gives stands behind each, for those who know it.
constexpr std::array kReasons{
    Meaning{"None", "was just taken by Slurm"},
    Meaning{"Resources", "waits for nodes to become free"},
    Meaning{"Priority", "waits behind jobs of higher priority"},
    Meaning{"PartitionDown", "waits: the partition is down"},
    Meaning{"PartitionInactive", "waits: the partition is inactive"},
    Meaning{"PartitionNodeLimit", "asks for more nodes than the partition gives to one job"},
    Meaning{"PartitionTimeLimit", "asks for more time than the partition gives to one job"},
    Meaning{"PartitionConfig", "asks for what the partition does not have"},
    Meaning{"BadConstraints", "asks for what no node of the partition has"},
    Meaning{"ReqNodeNotAvail", "waits: the nodes it needs are down, drained or reserved"},
    Meaning{"NodeDown", "waits: the nodes it needs are down"},
    Meaning{"Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions",
            "waits: the nodes it needs are down, drained or reserved"},
    Meaning{"BeginTime", "waits for the time at which Slurm may start it"},
    Meaning{"JobHeldUser", "is held by its user"},
    Meaning{"JobHeldAdmin", "is held by an administrator"},
    Meaning{"Reservation", "waits for its reservation"},
    Meaning{"Licenses", "waits for a license"},
    Meaning{"InvalidAccount", "names an account that Slurm does not know"},
    Meaning{"InvalidQOS", "names a quality of service that Slurm does not know"},
    Meaning{"Prolog", "waits for Slurm's prolog"},
    Meaning{"JobLaunchFailure", "could not be started by Slurm"},
};

// "AssocGrpCpuLimit", "QOSMaxJobsPerUserLimit": accounting has hundreds of them.
bool is_accounting_limit(std::string_view reason) {
  return reason.starts_with("Assoc") || reason.starts_with("QOS") || reason.starts_with("MaxCpu");
}

std::string_view meaning_of(std::string_view reason) {
  const auto* const found = std::ranges::find(kReasons, reason, &Meaning::first);
  if (found != kReasons.end()) return found->second;
  return is_accounting_limit(reason) ? "waits: a limit of its account is reached" : "waits in Slurm";
}

std::string exit_text(int64_t status) {
  if ((status & 0x7f) != 0) return fmt::format("signal {}", status & 0x7f);
  return fmt::format("exit code {}", (status >> 8) & 0xff);
}

}  // namespace

SlurmPhase phase_of(const SlurmJob& job) {
  const std::string_view state = job.state;
  if (state == "PENDING" || state.starts_with("REQUEUE") || state == "SPECIAL_EXIT" ||
      state == "RESV_DEL_HOLD")
    return SlurmPhase::kWaiting;
  if (state == "CONFIGURING") return SlurmPhase::kBooting;
  if (state == "RUNNING" || state == "SUSPENDED" || state == "STOPPED" || state == "RESIZING" ||
      state == "SIGNALING")
    return SlurmPhase::kRunning;
  if (state == "COMPLETING" || state == "STAGE_OUT") return SlurmPhase::kEnding;
  return SlurmPhase::kOver;
}

AllocationEnd end_of(const SlurmJob& job) {
  const std::string_view state = job.state;
  if (state == "COMPLETED") return AllocationEnd::kDone;
  if (state == "PREEMPTED") return AllocationEnd::kPreempted;
  if (state == "TIMEOUT" || state == "DEADLINE") return AllocationEnd::kOverTime;
  // Slurm cancels a job that it preempts and may not put back into its queue.
  if (state == "CANCELLED")
    return job.preempt_time > 0 ? AllocationEnd::kPreempted : AllocationEnd::kCanceled;
  return AllocationEnd::kLost;
}

std::string end_reason(const SlurmJob& job) {
  switch (end_of(job)) {
    case AllocationEnd::kDone: return fmt::format("Slurm job {} has ended", job.id);
    case AllocationEnd::kPreempted: return fmt::format("Slurm preempted job {}", job.id);
    case AllocationEnd::kOverTime: return fmt::format("Slurm ended job {} at its time limit", job.id);
    case AllocationEnd::kCanceled: return fmt::format("Slurm job {} was canceled outside Slipway", job.id);
    case AllocationEnd::kLost: break;
  }
  if (job.state == "NODE_FAIL") return fmt::format("a node of Slurm job {} failed ({})", job.id, job.nodes);
  if (job.state == "BOOT_FAIL")
    return fmt::format("a node of Slurm job {} did not start ({})", job.id, job.nodes);
  if (job.state == "OUT_OF_MEMORY")
    return fmt::format("Slurm ended job {}: it used more memory than it asked for", job.id);
  return fmt::format("Slurm job {} ended by itself ({}, {})", job.id, job.state, exit_text(job.exit_status));
}

std::string waiting_reason(const SlurmJob& job) {
  switch (phase_of(job)) {
    case SlurmPhase::kWaiting: {
      std::string text = fmt::format("Slurm job {} {}", job.id, meaning_of(job.reason));
      if (job.reason != "None") text += fmt::format(" ({})", job.reason);
      if (!job.description.empty()) text += fmt::format("; {}", job.description);
      return text;
    }
    case SlurmPhase::kBooting:
      return fmt::format("Slurm is starting the nodes of job {} ({})", job.id, job.nodes);
    case SlurmPhase::kRunning:
      return fmt::format("the nodes of Slurm job {} ({}) are coming up", job.id, job.nodes);
    case SlurmPhase::kEnding: return fmt::format("Slurm is ending job {}", job.id);
    case SlurmPhase::kOver: return end_reason(job);
  }
  return "";
}

}  // namespace slipway::compute

#include "compute/engines/slurm/states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::compute {
namespace {

using testing::HasSubstr;

SlurmJob job(std::string state, std::string reason = "None") {
  SlurmJob made;
  made.id = 12;
  made.state = std::move(state);
  made.reason = std::move(reason);
  made.nodes = "node[1-2]";
  return made;
}

TEST(SlurmStates, EveryStateHasAPhase) {
  EXPECT_EQ(phase_of(job("PENDING")), SlurmPhase::kWaiting);
  EXPECT_EQ(phase_of(job("REQUEUED")), SlurmPhase::kWaiting);
  EXPECT_EQ(phase_of(job("CONFIGURING")), SlurmPhase::kBooting);
  EXPECT_EQ(phase_of(job("RUNNING")), SlurmPhase::kRunning);
  EXPECT_EQ(phase_of(job("SUSPENDED")), SlurmPhase::kRunning);
  EXPECT_EQ(phase_of(job("COMPLETING")), SlurmPhase::kEnding);
  for (const char* over : {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED",
                           "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"})
    EXPECT_EQ(phase_of(job(over)), SlurmPhase::kOver) << over;
}

TEST(SlurmStates, EveryEndHasItsCauseAndSaysWhichJobItWas) {
  const std::pair<const char*, AllocationEnd> ends[] = {
      {"COMPLETED", AllocationEnd::kDone},     {"PREEMPTED", AllocationEnd::kPreempted},
      {"TIMEOUT", AllocationEnd::kOverTime},   {"DEADLINE", AllocationEnd::kOverTime},
      {"CANCELLED", AllocationEnd::kCanceled}, {"FAILED", AllocationEnd::kLost},
      {"NODE_FAIL", AllocationEnd::kLost},     {"BOOT_FAIL", AllocationEnd::kLost},
      {"OUT_OF_MEMORY", AllocationEnd::kLost},
  };
  for (const auto& [state, end] : ends) {
    EXPECT_EQ(end_of(job(state)), end) << state;
    EXPECT_THAT(end_reason(job(state)), HasSubstr("12")) << state;
  }
  SlurmJob preempted = job("CANCELLED");
  preempted.preempt_time = 1794758533;
  EXPECT_EQ(end_of(preempted), AllocationEnd::kPreempted);
}

TEST(SlurmStates, SaysHowAJobFailed) {
  SlurmJob failed = job("FAILED");
  failed.exit_status = 127 << 8;
  EXPECT_THAT(end_reason(failed), HasSubstr("exit code 127"));
  failed.exit_status = 9;
  EXPECT_THAT(end_reason(failed), HasSubstr("signal 9"));
}

TEST(SlurmStates, PendingReasonsAreSentencesWithSlurmsOwnWord) {
  EXPECT_EQ(waiting_reason(job("PENDING", "Resources")),
            "Slurm job 12 waits for nodes to become free (Resources)");
  EXPECT_EQ(waiting_reason(job("PENDING", "QOSMaxJobsPerUserLimit")),
            "Slurm job 12 waits: a limit of its account is reached (QOSMaxJobsPerUserLimit)");
  EXPECT_EQ(waiting_reason(job("PENDING", "SomethingNew")), "Slurm job 12 waits in Slurm (SomethingNew)");
  EXPECT_EQ(waiting_reason(job("PENDING")), "Slurm job 12 was just taken by Slurm");
  EXPECT_THAT(waiting_reason(job("CONFIGURING")), HasSubstr("starting the nodes of job 12 (node[1-2])"));
}

}  // namespace
}  // namespace slipway::compute

#include "compute/engines/slurm/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compute/engines/slurm/node_summary.h"

namespace slipway::compute {
namespace {

AllocationRequest request() {
  AllocationRequest made;
  made.key = {.run = RunId("digits-x7k2"), .attempt = 2};
  made.id = "hpc-3f9a2k";
  made.nodes = 3;
  return made;
}

ClusterSpec cluster() {
  ClusterSpec spec;
  spec.name = ClusterName("hpc");
  spec.engine = EngineKind::kSlurm;
  spec.slurm.partition = "gpu";
  spec.slurm.low_partition = "low";
  spec.slurm.account = "team";
  return spec;
}

TEST(SlurmJob, CommentNamesRunAttemptAndRequest) {
  const std::string comment = job_comment(request());
  EXPECT_EQ(comment, "slipway run=digits-x7k2 attempt=2 request=hpc-3f9a2k");
  EXPECT_EQ(request_in_comment(comment), "hpc-3f9a2k");
  EXPECT_EQ(request_in_comment("somebody's job request=hpc-3f9a2k"), "");
  EXPECT_EQ(request_in_comment(""), "");
}

TEST(SlurmJob, AsksForWhatTheRunAsksFor) {
  AllocationRequest asks = request();
  asks.asked = {.cpus = 1.5, .memory_bytes = (300 << 20) + 1, .gpus = 2};
  asks.time_limit = std::chrono::minutes(10) + std::chrono::seconds(1);
  const SlurmJobOrder order = job_order(asks, cluster());
  EXPECT_EQ(order.name, "digits-x7k2.2");
  EXPECT_EQ(order.partition, "gpu");
  EXPECT_EQ(order.account, "team");
  EXPECT_EQ(order.nodes, 3);
  EXPECT_EQ(order.cpus, 2);
  EXPECT_EQ(order.memory_mb, 301U);
  EXPECT_EQ(order.gpus, 2);
  EXPECT_EQ(order.minutes, 26);
  EXPECT_FALSE(order.exclusive);
}

TEST(SlurmJob, NothingNamedIsAWholeNode) {
  const SlurmJobOrder order = job_order(request(), cluster());
  EXPECT_TRUE(order.exclusive);
  EXPECT_EQ(order.cpus, 0);
  EXPECT_EQ(order.minutes, 0);
}

TEST(SlurmJob, LowPriorityGoesToTheLowPartition) {
  ClusterSpec low = cluster();
  low.priority = Priority::kLow;
  EXPECT_EQ(job_order(request(), low).partition, "low");
  low.slurm.low_partition.clear();
  EXPECT_EQ(job_order(request(), low).partition, "gpu");
}

TEST(SlurmJob, SoDoesARunOfLowPriority) {
  AllocationRequest asks = request();
  asks.low_priority = true;
  EXPECT_EQ(job_order(asks, cluster()).partition, "low");
}

TEST(SlurmJob, TokensOfTheNodesAreNotAmongTheVariables) {
  SlurmJobOrder order = job_order(request(), cluster());
  add_agent(order,
            {.program = "/bin/slipway",
             .server_url = "http://head:7070",
             .scratch = "",
             .shared = "",
             .ca_certificate = ""},
            "hpc-3f9a2k", {Secret("one"), Secret("two"), Secret("three")});
  EXPECT_EQ(order.secrets.at("SLIPWAY_AGENT_TOKENS").reveal(), "one,two,three");
  for (const auto& [name, value] : order.variables) EXPECT_FALSE(value.contains("two")) << name;
}

TEST(SlurmNodes, GpusAreCountedWhateverTheirType) {
  EXPECT_EQ(gpus_in("gpu:4"), 4);
  EXPECT_EQ(gpus_in("gpu:a100:4(S:0-1),gpu:t4:2,fpga:1"), 6);
  EXPECT_EQ(gpus_in(""), 0);
  EXPECT_EQ(gpus_in("(null)"), 0);
  EXPECT_EQ(gpus_in("gpu:"), 0);
}

TEST(SlurmNodes, AreCountedByWhatTheyCanDoNow) {
  NodeSummary summary("");
  summary.add("idle", 8, 1000, 0);
  summary.add("idle~", 64, 4000, 2);
  summary.add("mixed", 8, 1000, 0);
  summary.add("down*", 8, 1000, 0);
  summary.add("draining", 8, 1000, 0);
  const EngineNodes& nodes = summary.result();
  EXPECT_EQ(nodes.total, 5);
  EXPECT_EQ(nodes.idle, 1);
  EXPECT_EQ(nodes.busy, 1);
  EXPECT_EQ(nodes.asleep, 1);
  EXPECT_EQ(nodes.down, 2);
  EXPECT_EQ(nodes.largest.cpus, 64);
  EXPECT_EQ(nodes.largest.gpus, 2);
}

}  // namespace
}  // namespace slipway::compute

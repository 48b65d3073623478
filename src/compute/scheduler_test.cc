#include "compute/scheduler.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace slipway::compute {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kGibibyte = 1 << 30;
const Amount kSize{.milli_cpus = 4000, .memory_bytes = 8 * kGibibyte, .gpus = 2};

NodeView free_node(const std::string& id) {
  return {.id = NodeId(id), .total = kSize, .free = kSize, .free_gpus = {0, 1}, .accepting = true};
}

NodeView busy_node(const std::string& id) {
  return {.id = NodeId(id), .total = kSize, .free = {}, .free_gpus = {}, .accepting = true};
}

NodeView starting_node(const std::string& id) {
  return {.id = NodeId(id), .total = kSize, .free = kSize, .free_gpus = {0, 1}, .starting = true};
}

ClusterView cluster(int max_nodes) {
  return {.name = ClusterName("cpu-cluster"),
          .max_nodes = max_nodes,
          .node_size = kSize,
          .machine = kSize,
          .start_problem = ""};
}

WaitingRun run(int64_t seq, int nodes = 1, Resources asked = {}) {
  return {.seq = seq, .run = RunId(fmt::format("run-{}", seq)), .asked = asked, .nodes = nodes};
}

WaitingRuns queue_of(std::vector<WaitingRun> runs) {
  WaitingRuns queue;
  for (WaitingRun& one : runs) queue.add(std::move(one));
  return queue;
}

std::vector<int64_t> placed(const SchedulerResult& result) {
  std::vector<int64_t> seqs;
  for (const Placement& placement : result.placements) seqs.push_back(placement.seq);
  return seqs;
}

TEST(WaitingRuns, KeepTheOrderOfSubmissionAlsoForOneThatComesBack) {
  WaitingRuns queue = queue_of({run(3), run(7), run(9)});
  EXPECT_TRUE(queue.add(run(5)));
  EXPECT_FALSE(queue.add(run(5)));
  EXPECT_EQ(queue.position(5, {}), 1U);
  EXPECT_TRUE(queue.remove(3));
  EXPECT_FALSE(queue.remove(3));
  EXPECT_EQ(queue.position(9, {}), 2U);
  EXPECT_EQ(queue.position(4, {}), std::nullopt);
}

TEST(Scheduler, PlacesInOrderWhileThereIsRoom) {
  const auto nodes = std::vector{free_node("a"), free_node("b")};
  const auto result = schedule(queue_of({run(1), run(2), run(3)}), nodes, cluster(2));
  EXPECT_THAT(placed(result), ElementsAre(1, 2));
  EXPECT_NE(result.placements[0].grants[0].node, result.placements[1].grants[0].node);
}

TEST(Scheduler, AWholeNodeIsGrantedWithItsGpus) {
  const auto nodes = std::vector{free_node("a")};
  const auto result = schedule(queue_of({run(1)}), nodes, cluster(1));
  ASSERT_EQ(result.placements.size(), 1U);
  EXPECT_EQ(result.placements[0].grants[0].granted, to_resources(kSize));
  EXPECT_THAT(result.placements[0].grants[0].gpu_indices, ElementsAre(0, 1));
}

TEST(Scheduler, AWholeNodeIsNotGrantedWhereAnythingRuns) {
  auto nodes = std::vector{free_node("a")};
  nodes[0].free.milli_cpus -= 1;
  EXPECT_THAT(placed(schedule(queue_of({run(1)}), nodes, cluster(1))), IsEmpty());
}

TEST(Scheduler, SharesFillANodeToTheThousandth) {
  std::vector<WaitingRun> runs;
  for (int i = 1; i <= 50; ++i) runs.push_back(run(i, 1, {.cpus = 0.1, .memory_bytes = 1 << 20}));
  const auto nodes = std::vector{free_node("a")};
  EXPECT_EQ(schedule(queue_of(runs), nodes, cluster(1)).placements.size(), 40U);
}

TEST(Scheduler, GpusAreGrantedOnceEach) {
  const Resources one_gpu{.cpus = 1, .memory_bytes = 1 << 30, .gpus = 1};
  const auto nodes = std::vector{free_node("a")};
  const auto result =
      schedule(queue_of({run(1, 1, one_gpu), run(2, 1, one_gpu), run(3, 1, one_gpu)}), nodes, cluster(1));
  ASSERT_THAT(placed(result), ElementsAre(1, 2));
  EXPECT_THAT(result.placements[0].grants[0].gpu_indices, ElementsAre(0));
  EXPECT_THAT(result.placements[1].grants[0].gpu_indices, ElementsAre(1));
}

TEST(Scheduler, ASmallRunGoesWhereThereIsLeastRoom) {
  auto nodes = std::vector{free_node("a"), free_node("b")};
  nodes[1].free.milli_cpus = 1000;
  const auto result =
      schedule(queue_of({run(1, 1, {.cpus = 1, .memory_bytes = 1 << 20}), run(2)}), nodes, cluster(2));
  ASSERT_THAT(placed(result), ElementsAre(1, 2));
  EXPECT_EQ(result.placements[0].grants[0].node, NodeId("b"));
  EXPECT_EQ(result.placements[1].grants[0].node, NodeId("a"));
}

TEST(Scheduler, SeveralNodesAreGrantedTogetherOrNotAtAll) {
  const auto two = std::vector{free_node("a"), free_node("b"), busy_node("c")};
  EXPECT_THAT(placed(schedule(queue_of({run(1, 3)}), two, cluster(3))), IsEmpty());
  const auto three = std::vector{free_node("a"), free_node("b"), free_node("c")};
  const auto result = schedule(queue_of({run(1, 3)}), three, cluster(3));
  ASSERT_EQ(result.placements.size(), 1U);
  EXPECT_EQ(result.placements[0].grants.size(), 3U);
}

TEST(Scheduler, TheHeadKeepsTheNodesItWaitsFor) {
  const auto nodes = std::vector{free_node("a"), busy_node("b")};
  const auto result = schedule(queue_of({run(1, 2), run(2), run(3, 1, {.cpus = 0.1})}), nodes, cluster(2));
  EXPECT_THAT(placed(result), IsEmpty());
}

TEST(Scheduler, RunsBehindTheHeadUseNodesItDoesNotNeed) {
  auto nodes = std::vector{free_node("a"), busy_node("b"), busy_node("c")};
  nodes[1].free = {.milli_cpus = 2000, .memory_bytes = kGibibyte};
  nodes[2].free = {.milli_cpus = 1000, .memory_bytes = kGibibyte};
  // The head gets a and then b, which is freer than c; c is left for others.
  const auto result = schedule(queue_of({run(1, 2), run(2, 1, {.cpus = 2, .memory_bytes = 1 << 20}),
                                         run(3, 1, {.cpus = 1, .memory_bytes = 1 << 20})}),
                               nodes, cluster(3));
  ASSERT_THAT(placed(result), ElementsAre(3));
  EXPECT_EQ(result.placements[0].grants[0].node, NodeId("c"));
}

TEST(Scheduler, ARunThatCanNeverFitHoldsNothingUp) {
  const auto nodes = std::vector{free_node("a")};
  WaitingRuns queue = queue_of({run(1, 5), run(2, 1, {.cpus = 99}), run(3)});
  EXPECT_THAT(placed(schedule(queue, nodes, cluster(1))), ElementsAre(3));
  EXPECT_TRUE(runs_wait(queue, cluster(1)));
  queue.remove(3);
  EXPECT_FALSE(runs_wait(queue, cluster(1)));
}

TEST(Scheduler, NodesThatDoNotAcceptGetNothing) {
  auto nodes = std::vector{free_node("a"), starting_node("b")};
  nodes[0].accepting = false;
  EXPECT_THAT(placed(schedule(queue_of({run(1)}), nodes, cluster(2))), IsEmpty());
}

TEST(Scheduler, IsQuickWithTenThousandRunsWaiting) {
  WaitingRuns queue;
  for (int i = 0; i < 10'000; ++i) queue.add(run(i));
  std::vector<NodeView> nodes;
  for (int i = 0; i < 16; ++i) nodes.push_back(busy_node(fmt::format("n-{}", i)));
  nodes[7] = free_node("n-7");
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(schedule(queue, nodes, cluster(16)).placements.size(), 1U);
  // About 10 microseconds each in an optimised build; a walk over the queue would take hundreds.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST(NodesWanted, IsOneForEachWholeNodeRunWithinTheLimit) {
  const WaitingRuns queue = queue_of({run(1), run(2), run(3)});
  EXPECT_EQ(nodes_wanted(queue, {}, cluster(10)), 3);
  EXPECT_EQ(nodes_wanted(queue, {}, cluster(2)), 2);
  EXPECT_EQ(nodes_wanted({}, {}, cluster(2)), 0);
}

TEST(NodesWanted, CountsStartingNodesAsStillWanted) {
  const auto nodes = std::vector{busy_node("a"), starting_node("b")};
  EXPECT_EQ(nodes_wanted(queue_of({run(1), run(2), run(3)}), nodes, cluster(3)), 2);
  EXPECT_EQ(nodes_wanted(queue_of({run(1)}), nodes, cluster(3)), 1);
}

TEST(NodesWanted, PacksSharesAndUsesWhatIsFree) {
  std::vector<WaitingRun> runs;
  for (int i = 0; i < 12; ++i) runs.push_back(run(i, 1, {.cpus = 1, .memory_bytes = 1 << 20}));
  EXPECT_EQ(nodes_wanted(queue_of(runs), {}, cluster(10)), 3);
  const auto nodes = std::vector{free_node("a")};
  EXPECT_EQ(nodes_wanted(queue_of(runs), nodes, cluster(10)), 2);
}

TEST(NodesWanted, IsForTheRestOfTheNodesOfAGang) {
  const auto nodes = std::vector{free_node("a"), busy_node("b")};
  EXPECT_EQ(nodes_wanted(queue_of({run(1, 3)}), nodes, cluster(8)), 2);
  EXPECT_EQ(nodes_wanted(queue_of({run(1, 3)}), nodes, cluster(3)), 1);
}

TEST(NodesWanted, IsNotForARunThatCanNeverFit) {
  EXPECT_EQ(nodes_wanted(queue_of({run(1, 9), run(2, 1, {.cpus = 99})}), {}, cluster(4)), 0);
}

TEST(Why, SaysHowManyNodesAreBusyAndHowManyRunsComeFirst) {
  const auto nodes = std::vector{busy_node("a"), busy_node("b"), busy_node("c"), busy_node("d")};
  const WaitingRuns queue = queue_of({run(1), run(2), run(3)});
  EXPECT_EQ(why(queue, 1, nodes, cluster(4)), "cpu-cluster has 4 of 4 nodes busy");
  EXPECT_EQ(why(queue, 2, nodes, cluster(4)), "cpu-cluster has 4 of 4 nodes busy; 1 run before this one");
  EXPECT_EQ(why(queue, 3, nodes, cluster(4)), "cpu-cluster has 4 of 4 nodes busy; 2 runs before this one");
  EXPECT_EQ(why(queue, 4, nodes, cluster(4)), "");
}

TEST(Why, SaysHowManyNodesAreToStart) {
  const WaitingRuns queue = queue_of({run(1, 2), run(2)});
  EXPECT_EQ(why(queue, 1, {}, cluster(2)), "waiting for 2 nodes of cpu-cluster to start");
  const auto nodes = std::vector{starting_node("a"), free_node("b")};
  EXPECT_EQ(why(queue, 1, nodes, cluster(2)), "waiting for 1 node of cpu-cluster to start");
}

TEST(Why, SaysThatNodesDoNotComeUp) {
  ClusterView view = cluster(2);
  view.start_problem = "the agent ended at once, 3 times";
  EXPECT_EQ(why(queue_of({run(1)}), 1, {}, view),
            "no node of cpu-cluster comes up: the agent ended at once, 3 times");
}

TEST(Why, SaysThatTheClusterIsTooSmall) {
  const WaitingRuns queue = queue_of({run(1, 3), run(2, 1, {.cpus = 8, .memory_bytes = 1 << 30})});
  EXPECT_EQ(why(queue, 1, {}, cluster(2)), "asks for 3 nodes; cpu-cluster has at most 2");
  EXPECT_EQ(why(queue, 2, {}, cluster(2)),
            "asks for 8 CPUs and 1 GiB on each node; cpu-cluster has nodes with 4 CPUs, 8 GiB and 2 GPUs");
}

TEST(Why, SaysThatFreeNodesAreKeptForAnother) {
  const auto nodes = std::vector{free_node("a"), busy_node("b")};
  const WaitingRuns queue = queue_of({run(1, 2), run(2)});
  EXPECT_EQ(why(queue, 1, nodes, cluster(2)), "cpu-cluster has 1 of 2 nodes busy; this run needs 2 at once");
  EXPECT_EQ(why(queue, 2, nodes, cluster(2)),
            "cpu-cluster keeps what is free for a run that came first; 1 run before this one");
}

TEST(Why, SaysWhichShareIsNotFree) {
  auto nodes = std::vector{free_node("a")};
  nodes[0].free.milli_cpus = 500;
  EXPECT_EQ(why(queue_of({run(1, 1, {.cpus = 1, .memory_bytes = 1 << 30})}), 1, nodes, cluster(1)),
            "cpu-cluster has 1 of 1 nodes busy, and not 1 CPU and 1 GiB free on any");
}

TEST(Why, SaysThatANodeIsNotReady) {
  auto nodes = std::vector{free_node("a")};
  nodes[0].accepting = false;
  EXPECT_EQ(why(queue_of({run(1)}), 1, nodes, cluster(1)), "1 node of cpu-cluster is not ready for work");
}

Job job_asking(int nodes, Resources resources) {
  Job job;
  job.nodes = nodes;
  job.resources = resources;
  return job;
}

TEST(CheckFits, AcceptsWhatTheClusterCanHold) {
  EXPECT_TRUE(check_fits(job_asking(2, {}), cluster(2)));
  EXPECT_TRUE(check_fits(job_asking(1, to_resources(kSize)), cluster(2)));
  EXPECT_TRUE(check_fits(job_asking(1, {.gpus = 2}), cluster(2)));
}

TEST(CheckFits, NamesTheLimitOfNodesAndHowToRaiseIt) {
  const auto status = check_fits(job_asking(3, {}), cluster(2));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().message, "cluster 'cpu-cluster' has at most 2 nodes; this run asks for 3");
  EXPECT_EQ(status.error().next,
            "lower --nodes, or raise the limit: slipway compute update cpu-cluster --max 3");
}

TEST(CheckFits, NamesWhatIsTooLargeAndWhetherALargerClusterIsPossible) {
  ClusterView view = cluster(2);
  view.machine.milli_cpus = 16'000;
  const auto cpus = check_fits(job_asking(1, {.cpus = 8}), view);
  ASSERT_FALSE(cpus);
  EXPECT_EQ(cpus.error().message, "cluster 'cpu-cluster' has nodes with 4 CPUs; this run asks for 8 on each");
  EXPECT_EQ(cpus.error().next,
            "lower --cpus, or create a larger cluster: slipway compute create big --cpus 8");
  EXPECT_EQ(check_fits(job_asking(1, {.cpus = 32}), view).error().next,
            "lower --cpus: this machine has 16 CPUs");
  EXPECT_THAT(check_fits(job_asking(1, {.memory_bytes = uint64_t{16} << 30}), view).error().message,
              HasSubstr("nodes with 8 GiB of memory; this run asks for 16 GiB on each"));
  view.node_size.gpus = 0;
  EXPECT_THAT(check_fits(job_asking(1, {.gpus = 1}), view).error().message,
              HasSubstr("nodes with no GPUs; this run asks for 1 on each"));
}

TEST(Share, OfWhatIsNotNamedFollowsWhatIs) {
  EXPECT_EQ(share_of({}, kSize), kSize);
  EXPECT_EQ(share_of({.cpus = 1}, kSize), (Amount{1000, 2 * kGibibyte, 0}));
  EXPECT_EQ(share_of({.memory_bytes = uint64_t{4} << 30}, kSize), (Amount{2000, 4 * kGibibyte, 0}));
  EXPECT_EQ(share_of({.gpus = 1}, kSize), (Amount{2000, 4 * kGibibyte, 1}));
  EXPECT_EQ(share_of({.cpus = 8}, kSize), (Amount{8000, 8 * kGibibyte, 0}));
}

}  // namespace
}  // namespace slipway::compute

#include "compute/preemption.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "compute/awaited_room.h"

namespace slipway::compute {
namespace {

using enum JobPriority;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using namespace std::chrono_literals;

constexpr Duration kAgeing = 30min;
constexpr Timestamp kNow{1'000'000'000'000'000};
constexpr int64_t kGibibyte = 1 << 30;
const Amount kSize{.milli_cpus = 4000, .memory_bytes = 8 * kGibibyte, .gpus = 2};

Timestamp ago(Duration time) {
  return {kNow.micros - time.count()};
}

WaitingRun waiting(int64_t seq, JobPriority priority, int nodes = 1, Resources asked = {}) {
  return {.seq = seq,
          .run = RunId(fmt::format("w{}", seq)),
          .asked = asked,
          .nodes = nodes,
          .priority = priority,
          .since = kNow};
}

WaitingRun since(Duration time, WaitingRun run) {
  run.since = ago(time);
  return run;
}

// A cluster of the table below, its nodes full of what the test says.
class Giving : public testing::Test {
 protected:
  ClusterView cluster(int max_nodes, Priority priority = Priority::kDedicated) const {
    ClusterView view{.name = ClusterName("c"),
                     .max_nodes = max_nodes,
                     .node_size = kSize,
                     .machine = kSize,
                     .priority = priority,
                     .use = use_,
                     .moment = {.now = kNow, .ageing = kAgeing},
                     .start_problem = ""};
    return view;
  }

  // One that runs on those nodes of the cluster, with all of each or a share.
  HeldRun& holds(const std::vector<std::string>& nodes, JobPriority priority, Duration running = 1min,
                 double share = 1) {
    Amount amount = kSize;
    amount.milli_cpus = static_cast<int64_t>(4000 * share);
    amount.memory_bytes = static_cast<int64_t>(static_cast<double>(8 * kGibibyte) * share);
    amount.gpus = share == 1 ? 2 : 0;
    HeldRun run;
    run.seq = static_cast<int64_t>(held_.size()) + 1;
    run.run = RunId(fmt::format("r{}", run.seq));
    run.priority = priority;
    run.started_at = ago(running);
    for (const std::string& name : nodes) {
      node(name).free -= amount;
      const std::vector<int> gpus = amount.gpus == 2 ? std::vector{0, 1} : std::vector<int>{};
      if (!gpus.empty()) node(name).free_gpus.clear();
      run.grants.push_back({.node = NodeId(name), .granted = to_resources(amount), .gpu_indices = gpus});
    }
    return held_.emplace_back(std::move(run));
  }

  // One of a cluster of low priority that shares the machine.
  HeldRun& holds_elsewhere(JobPriority priority, double cpus, Duration running = 1min) {
    HeldRun run;
    run.seq = static_cast<int64_t>(elsewhere_.size()) + 100;
    run.run = RunId(fmt::format("e{}", run.seq));
    run.priority = priority;
    run.started_at = ago(running);
    const Amount amount{.milli_cpus = static_cast<int64_t>(cpus * 1000), .memory_bytes = kGibibyte};
    run.grants.push_back({.node = NodeId("elsewhere"), .granted = to_resources(amount), .gpu_indices = {}});
    use_.machine = kSize;
    use_.low += amount;
    return elsewhere_.emplace_back(std::move(run));
  }

  NodeView& node(const std::string& name) {
    for (NodeView& one : nodes_)
      if (one.id == NodeId(name)) return one;
    return nodes_.emplace_back(
        NodeView{.id = NodeId(name), .total = kSize, .free = kSize, .free_gpus = {0, 1}, .accepting = true});
  }

  std::vector<Preemption> choose(std::vector<WaitingRun> runs, const ClusterView& view) const {
    WaitingRuns queue;
    for (WaitingRun& run : runs) queue.add(std::move(run));
    std::vector<Candidate> candidates;
    for (const HeldRun& run : held_)
      candidates.push_back(
          {.held = &run, .standing = standing_of(run, view.priority, kNow, kAgeing), .here = true});
    for (const HeldRun& run : elsewhere_)
      candidates.push_back(
          {.held = &run, .standing = standing_of(run, Priority::kLow, kNow, kAgeing), .here = false});
    return choose_victims(queue, nodes_, view, candidates);
  }

  std::vector<std::string> victims(std::vector<WaitingRun> runs, const ClusterView& view) const {
    std::vector<std::string> names;
    for (const Preemption& preemption : choose(std::move(runs), view))
      names.push_back(preemption.victim.str());
    return names;
  }

  std::vector<NodeView> nodes_;
  std::deque<HeldRun> held_;
  std::deque<HeldRun> elsewhere_;
  MachineUse use_;
};

TEST_F(Giving, OnlyAHigherPriorityTakesAPlace) {
  struct Row {
    JobPriority waits;
    JobPriority runs;
    bool gives_way;
  };
  for (const Row& row : {Row{kLow, kLow, false}, Row{kLow, kNormal, false}, Row{kLow, kHigh, false},
                         Row{kNormal, kLow, true}, Row{kNormal, kNormal, false}, Row{kNormal, kHigh, false},
                         Row{kHigh, kLow, true}, Row{kHigh, kNormal, true}, Row{kHigh, kHigh, false}}) {
    for (const Priority priority : {Priority::kDedicated, Priority::kLow}) {
      nodes_.clear();
      held_.clear();
      holds({"a"}, row.runs);
      EXPECT_EQ(!victims({waiting(9, row.waits)}, cluster(1, priority)).empty(), row.gives_way)
          << to_text(row.waits) << " waits, " << to_text(row.runs) << " runs";
    }
  }
}

TEST_F(Giving, NobodyGivesWayWhileThereIsAnythingElse) {
  holds({"a"}, kLow);
  EXPECT_THAT(victims({waiting(9, kHigh)}, cluster(2)), IsEmpty());  // a node may still be started
  node("b").starting = true;
  node("b").accepting = false;
  EXPECT_THAT(victims({waiting(9, kHigh)}, cluster(2)), IsEmpty());  // one is on its way
  nodes_.pop_back();
  node("b");
  EXPECT_THAT(victims({waiting(9, kHigh)}, cluster(2)), IsEmpty());  // one is free
}

TEST_F(Giving, NodesThatDoNotComeUpAreNotWaitedFor) {
  holds({"a"}, kLow);
  ClusterView view = cluster(2);
  view.start_problem = "the agent ended at once, 3 times";
  EXPECT_THAT(victims({waiting(9, kNormal)}, view), ElementsAre("r1"));
}

TEST_F(Giving, TheLowestRankGoesFirstAndOfOneRankTheYoungest) {
  holds({"a"}, kNormal, 1s);
  holds({"b"}, kLow, 20min);
  holds({"c"}, kLow, 2min);
  holds({"d"}, kLow, 10min);
  EXPECT_THAT(victims({waiting(9, kHigh)}, cluster(4)), ElementsAre("r3"));
  held_[1].started_at.reset();  // not even begun: younger than any
  EXPECT_THAT(victims({waiting(9, kHigh)}, cluster(4)), ElementsAre("r2"));
}

TEST_F(Giving, AsFewGoAsWillDo) {
  for (int i = 0; i < 4; ++i) holds({"a"}, kLow, 1min, 0.25);
  holds({"b"}, kLow, 10min);
  // One whole node of an older run beside four shares.
  EXPECT_THAT(victims({waiting(9, kNormal)}, cluster(2)), ElementsAre("r5"));
  // Two shares of the four, the youngest by number.
  EXPECT_THAT(victims({waiting(9, kNormal, 1, {.cpus = 1, .memory_bytes = 1 << 30})}, cluster(2)),
              ElementsAre("r4"));
  nodes_.pop_back();
  held_.pop_back();
  EXPECT_THAT(victims({waiting(9, kNormal, 1, {.cpus = 2, .memory_bytes = 1 << 30})}, cluster(1)),
              UnorderedElementsAre("r4", "r3"));
}

TEST_F(Giving, ForAGangAllItsNodesAreFreedOrNone) {
  holds({"a"}, kLow);
  holds({"b"}, kNormal);
  holds({"c"}, kLow);
  EXPECT_THAT(victims({waiting(9, kNormal, 2)}, cluster(3)), UnorderedElementsAre("r1", "r3"));
  EXPECT_THAT(victims({waiting(9, kNormal, 3)}, cluster(3)), IsEmpty());
  EXPECT_THAT(victims({waiting(9, kHigh, 3)}, cluster(3)), UnorderedElementsAre("r1", "r2", "r3"));
}

TEST_F(Giving, AGangThatGivesWayLeavesAllItsNodes) {
  holds({"a", "b"}, kLow);
  const auto chosen = choose({waiting(9, kNormal), waiting(10, kNormal)}, cluster(2));
  ASSERT_EQ(chosen.size(), 1U);
  EXPECT_EQ(chosen[0].victim, RunId("r1"));
  EXPECT_EQ(chosen[0].by, RunId("w9"));
}

TEST_F(Giving, NobodyIsAskedAgainWhileTheChosenAreLeaving) {
  holds({"a"}, kLow).leaving = true;
  holds({"b"}, kLow);
  EXPECT_THAT(victims({waiting(9, kNormal)}, cluster(2)), IsEmpty());
  EXPECT_THAT(victims({waiting(9, kNormal), waiting(10, kNormal)}, cluster(2)), ElementsAre("r2"));
}

TEST_F(Giving, WhatIsFreedIsNotForThoseBeforeIt) {
  holds({"a"}, kLow);
  holds({"b"}, kLow);
  // The older low run has risen to the top and gets what becomes free first: so the high one needs both.
  const auto runs = std::vector{since(3h, waiting(3, kLow)), waiting(9, kHigh)};
  EXPECT_THAT(victims(runs, cluster(2)), UnorderedElementsAre("r1", "r2"));
  nodes_.pop_back();
  held_.pop_back();
  EXPECT_THAT(victims(runs, cluster(1)), IsEmpty());  // it would not be the high one's
}

TEST_F(Giving, ANodeThatIsNotHeardFromHelpsNobody) {
  holds({"a"}, kLow);
  nodes_[0].accepting = false;
  EXPECT_THAT(victims({waiting(9, kHigh)}, cluster(1)), IsEmpty());
}

TEST_F(Giving, ARunThatCanNeverFitTakesNothing) {
  holds({"a"}, kLow);
  EXPECT_THAT(victims({waiting(9, kHigh, 5), waiting(10, kHigh, 1, {.cpus = 99})}, cluster(1)), IsEmpty());
}

TEST_F(Giving, ARunThatHasRisenIsLeftAloneForOneAgeing) {
  HeldRun& run = holds({"a"}, kLow, 1min);
  run.waited = kAgeing;  // it was normal when it was placed
  EXPECT_THAT(victims({waiting(9, kNormal)}, cluster(1)), IsEmpty());
  EXPECT_THAT(victims({waiting(9, kHigh)}, cluster(1)), ElementsAre("r1"));
  run.waited = 2 * kAgeing;
  EXPECT_THAT(victims({waiting(9, kHigh)}, cluster(1)), IsEmpty());
  run.started_at = ago(kAgeing);
  EXPECT_THAT(victims({waiting(9, kNormal)}, cluster(1)), ElementsAre("r1"));
}

TEST_F(Giving, ARunThatHasGivenWayThreeTimesIsLeftAloneForOneAgeing) {
  HeldRun& run = holds({"a"}, kLow, 1min);
  run.preemptions = kMostPreemptions - 1;
  EXPECT_THAT(victims({waiting(9, kHigh)}, cluster(1)), ElementsAre("r1"));
  run.preemptions = kMostPreemptions;
  EXPECT_THAT(victims({waiting(9, kHigh)}, cluster(1)), IsEmpty());
  run.started_at.reset();
  EXPECT_THAT(victims({waiting(9, kHigh)}, cluster(1)), IsEmpty());
  run.started_at = ago(kAgeing);
  EXPECT_THAT(victims({waiting(9, kHigh)}, cluster(1)), ElementsAre("r1"));
}

TEST_F(Giving, RunsOfLowClustersMakeRoomOnTheMachine) {
  node("a");
  holds_elsewhere(kHigh, 1, 10min);
  holds_elsewhere(kHigh, 1, 1min);
  // 4 CPUs, of which 2 are theirs: 2 fit beside them, 3 do not, and 4 want all.
  EXPECT_THAT(victims({waiting(9, kLow, 1, {.cpus = 2, .memory_bytes = 1 << 30})}, cluster(1)), IsEmpty());
  EXPECT_THAT(victims({waiting(9, kLow, 1, {.cpus = 3, .memory_bytes = 1 << 30})}, cluster(1)),
              ElementsAre("e101"));
  EXPECT_THAT(victims({waiting(9, kLow)}, cluster(1)), UnorderedElementsAre("e100", "e101"));
}

TEST_F(Giving, RunsOfLowClustersThatHaveRisenStay) {
  node("a");
  holds_elsewhere(kNormal, 1).waited = 2 * kAgeing;
  use_.dedicated = use_.low;  // as they count by then
  use_.low = {};
  EXPECT_THAT(victims({waiting(9, kHigh)}, cluster(1)), IsEmpty());
  WaitingRuns queue;
  queue.add(waiting(9, kHigh));
  EXPECT_EQ(schedule(queue, nodes_, cluster(1)).placements.size(), 1U);  // shared, as among dedicated ones
}

TEST(MachineRoom, LowRunsUseWhatDedicatedOnesLeave) {
  const Amount half{.milli_cpus = 2000, .memory_bytes = 4 * kGibibyte};
  const Amount little{.milli_cpus = 2001, .memory_bytes = kGibibyte};
  MachineRoom low({.machine = kSize, .dedicated = half, .low = {}}, Priority::kLow);
  EXPECT_FALSE(low.take(little, false));
  EXPECT_TRUE(low.take(half, false));
  EXPECT_FALSE(low.take(half, false));
  EXPECT_TRUE(low.take(half, true));  // has waited its way up
  MachineRoom alone({.machine = kSize, .dedicated = {}, .low = kSize}, Priority::kLow);
  EXPECT_TRUE(alone.take(kSize, false));
  MachineRoom dedicated({.machine = kSize, .dedicated = kSize, .low = {}}, Priority::kDedicated);
  EXPECT_TRUE(dedicated.take(kSize, false));
  // GPUs that only the others use are no reason to refuse CPUs.
  MachineRoom gpus({.machine = kSize, .dedicated = {.gpus = 2}, .low = {}}, Priority::kLow);
  EXPECT_TRUE(gpus.take(half, false));
  EXPECT_FALSE(gpus.take({.milli_cpus = 1, .memory_bytes = 1, .gpus = 1}, false));
}

// A run that has just given way must not be back before the one it left for.
TEST(MachineRoom, OfLowClustersIsLessByWhatDedicatedRunsAreAboutToTake) {
  WaitingRuns queue;
  queue.add(waiting(1, kNormal, 1, {.cpus = 1, .memory_bytes = 1 << 30}));
  ClusterView view{.name = ClusterName("c"),
                   .max_nodes = 1,
                   .node_size = kSize,
                   .machine = kSize,
                   .use = {.machine = kSize, .dedicated = {}, .low = kSize},
                   .start_problem = ""};
  const Amount wanted{.milli_cpus = 1000, .memory_bytes = kGibibyte};
  EXPECT_EQ(awaited_room(queue, {}, view), wanted);  // as soon as a node has come up
  NodeView node{.id = NodeId("a"), .total = kSize, .free = kSize, .free_gpus = {0, 1}, .accepting = true};
  EXPECT_EQ(awaited_room(queue, std::vector{node}, view), wanted);
  node.free = {};
  EXPECT_EQ(awaited_room(queue, std::vector{node}, view), Amount{});  // it waits for its own cluster
  EXPECT_EQ(awaited_room({}, {}, view), Amount{});
}

TEST(MachineRoom, IsKeptForTheOneThatDidNotFit) {
  MachineRoom room({.machine = kSize, .dedicated = {.milli_cpus = 2000}, .low = {}}, Priority::kLow);
  EXPECT_FALSE(room.take({.milli_cpus = 3000}, false));
  room.close();
  EXPECT_FALSE(room.take({.milli_cpus = 1000}, false));
}

TEST(Waiting, HigherPrioritiesGoFirstAndEachInOrderOfItsWaiting) {
  WaitingRuns queue;
  for (const auto& [seq, priority] :
       std::map<int64_t, JobPriority>{{1, kLow}, {2, kNormal}, {3, kHigh}, {4, kNormal}, {5, kLow}})
    queue.add(waiting(seq, priority));
  const Moment moment{.now = kNow, .ageing = kAgeing};
  std::vector<int64_t> order;
  auto cursor = queue.in_order(moment);
  while (const WaitingRun* run = cursor.next()) order.push_back(run->seq);
  EXPECT_THAT(order, ElementsAre(3, 2, 4, 1, 5));
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(queue.position(order[i], moment), i);
}

// Whatever comes later and however important it is, a run that waits is first in the end: it is overtaken
// only by what came within two ageings of it.
TEST(Waiting, NobodyIsOvertakenForEver) {
  WaitingRuns queue;
  queue.add(waiting(1, kLow));
  int64_t seq = 1;
  for (int minute = 0; minute <= 120; minute += 10) {
    WaitingRun important = waiting(++seq, kHigh);
    important.since = {kNow.micros + Duration(std::chrono::minutes(minute)).count()};
    queue.add(important);
    const Moment moment{.now = important.since, .ageing = kAgeing};
    const auto before = queue.position(1, moment);
    ASSERT_TRUE(before);
    if (minute >= 60) {
      EXPECT_EQ(*before, 0U) << minute;
    } else {
      EXPECT_EQ(*before, static_cast<size_t>(minute / 10 + 1)) << minute;
    }
  }
}

TEST(Waiting, WhyNamesTheOtherClustersOfTheMachine) {
  const auto nodes = std::vector{
      NodeView{.id = NodeId("a"), .total = kSize, .free = kSize, .free_gpus = {0, 1}, .accepting = true}};
  ClusterView view{.name = ClusterName("cheap"),
                   .max_nodes = 1,
                   .node_size = kSize,
                   .machine = kSize,
                   .priority = Priority::kLow,
                   .use = {.machine = kSize, .dedicated = {.milli_cpus = 1000}, .low = {}},
                   .moment = {.now = kNow, .ageing = kAgeing},
                   .start_problem = ""};
  WaitingRuns queue;
  queue.add(waiting(1, kNormal));
  EXPECT_THAT(schedule(queue, nodes, view).placements, IsEmpty());
  EXPECT_EQ(why(queue, 1, nodes, view),
            "cheap has low priority, and runs of dedicated clusters leave less than 4 CPUs, 8 GiB and 2 GPUs "
            "of this machine");
  // By then it has waited its way up.
  view.moment.now = {kNow.micros + Duration(2 * kAgeing).count()};
  EXPECT_EQ(schedule(queue, nodes, view).placements.size(), 1U);
}

TEST(Standing, RisesByOneRankWithEachAgeing) {
  struct Row {
    Priority cluster;
    JobPriority job;
    Duration waited;
    int rank;
  };
  for (const Row& row :
       {Row{Priority::kLow, kLow, 0s, 0}, Row{Priority::kLow, kHigh, 29min, 2},
        Row{Priority::kLow, kHigh, 30min, 3}, Row{Priority::kDedicated, kLow, 0s, 3},
        Row{Priority::kDedicated, kNormal, 31min, 5}, Row{Priority::kDedicated, kHigh, 48h, 5},
        Row{Priority::kLow, kLow, 48h, 5}, Row{Priority::kLow, kLow, -48h, 0}})
    EXPECT_EQ(aged_rank(rank_of(row.cluster, row.job), row.waited, kAgeing), row.rank);
}

}  // namespace
}  // namespace slipway::compute

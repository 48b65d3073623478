#include "compute/autoscaler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::compute {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class AutoscalerTest : public testing::Test {
 protected:
  AutoscalerTest() {
    input_.limits = {.min_nodes = 0, .max_nodes = 4, .idle = seconds(120), .start_timeout = seconds(60)};
  }

  void add(const std::string& id, NodeState state, Duration ago = seconds(0), bool holds_attempts = false) {
    input_.nodes.push_back({.id = NodeId(id),
                            .state = state,
                            .since = clock_.monotonic() - ago,
                            .holds_attempts = holds_attempts || state == NodeState::kBusy});
  }
  ScalerDecision decide() {
    input_.now = clock_.monotonic();
    return scale(input_);
  }

  ManualClock clock_;
  ScalerInput input_;
};

TEST_F(AutoscalerTest, StartsWhatIsWantedUpToTheMaximum) {
  input_.nodes_wanted = 9;
  EXPECT_EQ(decide().start, 4);
  add("a", NodeState::kBusy);
  EXPECT_EQ(decide().start, 3);
}

TEST_F(AutoscalerTest, CountsNodesThatAreStarting) {
  input_.nodes_wanted = 3;
  add("a", NodeState::kStarting);
  add("b", NodeState::kStarting);
  EXPECT_EQ(decide().start, 1);
}

TEST_F(AutoscalerTest, KeepsTheMinimumWithoutDemand) {
  input_.limits.min_nodes = 2;
  EXPECT_EQ(decide().start, 2);
  add("a", NodeState::kIdle, seconds(9999));
  EXPECT_EQ(decide().start, 1);
  add("b", NodeState::kIdle, seconds(9999));
  const auto decision = decide();
  EXPECT_EQ(decision.start, 0);
  EXPECT_THAT(decision.drain, IsEmpty());
}

TEST_F(AutoscalerTest, LetsIdleNodesGoTheLongestIdleFirst) {
  input_.limits.min_nodes = 1;
  add("young", NodeState::kIdle, seconds(130));
  add("old", NodeState::kIdle, seconds(500));
  add("fresh", NodeState::kIdle, seconds(5));
  EXPECT_THAT(decide().drain, ElementsAre(NodeId("old"), NodeId("young")));
}

TEST_F(AutoscalerTest, SaysWhenTheNextNodeWillHaveBeenIdleLongEnough) {
  add("a", NodeState::kIdle, seconds(100));
  auto decision = decide();
  EXPECT_THAT(decision.drain, IsEmpty());
  ASSERT_TRUE(decision.ask_again);
  EXPECT_EQ(*decision.ask_again - clock_.monotonic(), seconds(20));
  clock_.advance(seconds(20));
  EXPECT_THAT(decide().drain, ElementsAre(NodeId("a")));
}

TEST_F(AutoscalerTest, AsksToBeAskedAgainAtOnceAfterDraining) {
  add("a", NodeState::kIdle, seconds(121));
  EXPECT_EQ(decide().ask_again, clock_.monotonic());
}

TEST_F(AutoscalerTest, KeepsIdleNodesWhileRunsWait) {
  add("a", NodeState::kIdle, seconds(9999));
  input_.runs_wait = true;
  EXPECT_THAT(decide().drain, IsEmpty());
}

TEST_F(AutoscalerTest, StopsADrainingNodeOnlyOnceItHoldsNothing) {
  add("still", NodeState::kDraining, seconds(0), true);
  add("empty", NodeState::kDraining);
  EXPECT_THAT(decide().stop, ElementsAre(NodeId("empty")));
}

TEST_F(AutoscalerTest, DrainingNodesCountAgainstTheMaximum) {
  input_.limits.max_nodes = 2;
  input_.nodes_wanted = 2;
  add("a", NodeState::kDraining, seconds(0), true);
  EXPECT_EQ(decide().start, 1);
}

TEST_F(AutoscalerTest, StopsALostNodeOnceItsAttemptsAreSettled) {
  add("a", NodeState::kLost, seconds(0), true);
  EXPECT_THAT(decide().stop, IsEmpty());
  input_.nodes[0].holds_attempts = false;
  EXPECT_THAT(decide().stop, ElementsAre(NodeId("a")));
}

TEST_F(AutoscalerTest, GivesUpANodeThatDoesNotComeUpInTime) {
  add("slow", NodeState::kStarting, seconds(59));
  auto decision = decide();
  EXPECT_THAT(decision.give_up, IsEmpty());
  EXPECT_EQ(*decision.ask_again - clock_.monotonic(), seconds(1));
  clock_.advance(seconds(1));
  EXPECT_THAT(decide().give_up, ElementsAre(NodeId("slow")));
}

TEST_F(AutoscalerTest, WaitsLongerAfterEachFailedStart) {
  input_.nodes_wanted = 1;
  input_.backoff.failed(clock_.monotonic());
  auto decision = decide();
  EXPECT_EQ(decision.start, 0);
  EXPECT_EQ(*decision.ask_again - clock_.monotonic(), seconds(1));
  clock_.advance(seconds(1));
  EXPECT_EQ(decide().start, 1);
  input_.backoff.failed(clock_.monotonic());
  EXPECT_EQ(*decide().ask_again - clock_.monotonic(), seconds(2));
  for (int i = 0; i < 40; ++i) input_.backoff.failed(clock_.monotonic());
  EXPECT_EQ(*decide().ask_again - clock_.monotonic(), seconds(300));
  input_.backoff.succeeded();
  EXPECT_EQ(decide().start, 1);
}

TEST_F(AutoscalerTest, ALoweredMaximumLetsIdleThenStartingThenBusyNodesGo) {
  add("busy-old", NodeState::kBusy, seconds(90));
  add("busy-new", NodeState::kBusy, seconds(10));
  add("starting", NodeState::kStarting, seconds(1));
  add("idle", NodeState::kIdle, seconds(1));
  input_.limits.max_nodes = 3;
  EXPECT_THAT(decide().drain, ElementsAre(NodeId("idle")));
  input_.limits.max_nodes = 1;
  EXPECT_THAT(decide().drain, ElementsAre(NodeId("idle"), NodeId("starting"), NodeId("busy-new")));
}

TEST_F(AutoscalerTest, AClusterThatGoesDrainsEverything) {
  add("busy", NodeState::kBusy);
  add("idle", NodeState::kIdle);
  input_.limits.min_nodes = 0;
  input_.limits.max_nodes = 0;
  EXPECT_THAT(decide().drain, UnorderedElementsAre(NodeId("busy"), NodeId("idle")));
}

TEST_F(AutoscalerTest, AnIdleNodeOfTheWrongSizeIsReplacedWhateverTheMinimum) {
  input_.limits.min_nodes = 1;
  add("a", NodeState::kIdle);
  input_.nodes[0].outdated = true;
  const auto decision = decide();
  EXPECT_THAT(decision.drain, ElementsAre(NodeId("a")));
  EXPECT_EQ(decision.start, 1);
}

}  // namespace
}  // namespace slipway::compute

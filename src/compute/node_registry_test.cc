#include "compute/node_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace slipway::compute {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

const ClusterKey kCluster{WorkspaceName("default"), ClusterName("cpu")};
const NodeCapacity kCapacity{.cpus = 2, .memory_bytes = 4 << 20, .gpus = 2, .gpu_names = {"H200", "H200"}};

class NodeRegistryTest : public testing::Test {
 protected:
  void add(const std::string& id, bool registered = true) {
    EXPECT_TRUE(registry_.add({.id = NodeId(id),
                               .cluster = kCluster,
                               .capacity = kCapacity,
                               .gpu_indices = {4, 5},
                               .address = "",
                               .created_at = clock_.now()}));
    if (registered) EXPECT_TRUE(registry_.registered(NodeId(id), kCapacity, "127.0.0.1", 77));
  }
  Status reserve(const std::string& run, const std::string& node, Resources granted,
                 std::vector<int> gpus = {}) {
    return registry_.reserve({RunId(run), 1, 0}, {NodeId(node), granted, std::move(gpus)});
  }
  NodeState state(const std::string& id) { return registry_.find(NodeId(id))->state; }

  ManualClock clock_;
  NodeRegistry registry_{clock_, seconds(15)};
};

TEST_F(NodeRegistryTest, ANodeGoesFromStartingToIdleToBusyAndBack) {
  add("a", false);
  EXPECT_EQ(state("a"), NodeState::kStarting);
  ASSERT_TRUE(registry_.registered(NodeId("a"), kCapacity, "127.0.0.1", 77));
  EXPECT_EQ(state("a"), NodeState::kIdle);
  ASSERT_TRUE(reserve("run-1", "a", {.cpus = 1, .memory_bytes = 1 << 20}));
  EXPECT_EQ(state("a"), NodeState::kBusy);
  EXPECT_EQ(registry_.release({RunId("run-1"), 1, 0}), NodeId("a"));
  EXPECT_EQ(state("a"), NodeState::kIdle);
}

TEST_F(NodeRegistryTest, ReserveAndReleaseMayBeRepeated) {
  add("a");
  add("b");
  const Resources share{.cpus = 0.5, .memory_bytes = 1 << 20, .gpus = 1};
  ASSERT_TRUE(reserve("run-1", "a", share, {4}));
  ASSERT_TRUE(reserve("run-1", "a", share, {4}));
  ASSERT_TRUE(reserve("run-1", "b", share, {4})) << "it is held already, and stays where it is";
  const auto views = registry_.scheduler_view(kCluster);
  ASSERT_EQ(views.size(), 2U);
  EXPECT_EQ(views[0].free, (Amount{1500, 3 << 20, 1}));
  EXPECT_THAT(views[0].free_gpus, ElementsAre(5));
  EXPECT_EQ(views[1].free, views[1].total);
  EXPECT_EQ(registry_.release({RunId("run-1"), 1, 0}), NodeId("a"));
  EXPECT_EQ(registry_.release({RunId("run-1"), 1, 0}), std::nullopt);
  EXPECT_EQ(registry_.scheduler_view(kCluster)[0].free, registry_.scheduler_view(kCluster)[0].total);
}

TEST_F(NodeRegistryTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(reserve("run-1", "x", {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(registry_.heard_from(NodeId("x")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(registry_.registered(NodeId("x"), kCapacity, "", 1).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(registry_.find(NodeId("x")));
}

TEST_F(NodeRegistryTest, ANodeAcceptsWorkOnlyWhileItIsHeardFrom) {
  add("a");
  EXPECT_TRUE(registry_.scheduler_view(kCluster)[0].accepting);
  clock_.advance(seconds(16));
  EXPECT_FALSE(registry_.scheduler_view(kCluster)[0].accepting);
  ASSERT_TRUE(registry_.heard_from(NodeId("a")));
  EXPECT_TRUE(registry_.scheduler_view(kCluster)[0].accepting);
  registry_.set_draining(NodeId("a"));
  EXPECT_FALSE(registry_.scheduler_view(kCluster)[0].accepting);
}

TEST_F(NodeRegistryTest, ARememberedNodeAcceptsNothingUntilItIsHeardFromAndIsNotLostBeforeTheGrace) {
  NodeRecord remembered{.id = NodeId("a"),
                        .cluster = kCluster,
                        .capacity = kCapacity,
                        .gpu_indices = {0, 1},
                        .address = "127.0.0.1",
                        .registered = true,
                        .created_at = {}};
  ASSERT_TRUE(registry_.add(remembered));
  EXPECT_EQ(state("a"), NodeState::kIdle);
  EXPECT_FALSE(registry_.find(NodeId("a"))->heard_since_start);
  EXPECT_FALSE(registry_.scheduler_view(kCluster)[0].accepting);
  clock_.advance(seconds(599));
  EXPECT_THAT(registry_.silent_for(seconds(600)), IsEmpty());
  clock_.advance(seconds(1));
  EXPECT_THAT(registry_.silent_for(seconds(600)), ElementsAre(NodeId("a")));
  ASSERT_TRUE(registry_.heard_from(NodeId("a")));
  EXPECT_THAT(registry_.silent_for(seconds(600)), IsEmpty());
  EXPECT_TRUE(registry_.scheduler_view(kCluster)[0].accepting);
}

TEST_F(NodeRegistryTest, ALostNodeIsToldOnceAndTakenBackWhenItSpeaks) {
  add("a");
  clock_.advance(seconds(30));
  ASSERT_THAT(registry_.silent_for(seconds(30)), ElementsAre(NodeId("a")));
  registry_.set_lost(NodeId("a"));
  EXPECT_EQ(state("a"), NodeState::kLost);
  EXPECT_THAT(registry_.silent_for(seconds(30)), IsEmpty());
  ASSERT_TRUE(registry_.heard_from(NodeId("a")));
  EXPECT_EQ(state("a"), NodeState::kIdle);
}

TEST_F(NodeRegistryTest, ARemovedNodeLetsGoOfItsAttempts) {
  add("a");
  ASSERT_TRUE(reserve("run-1", "a", {.cpus = 1, .memory_bytes = 1}));
  registry_.remove(NodeId("a"));
  EXPECT_EQ(registry_.size(), 0U);
  EXPECT_EQ(registry_.release({RunId("run-1"), 1, 0}), std::nullopt);
  add("b");
  EXPECT_TRUE(reserve("run-1", "b", {.cpus = 1, .memory_bytes = 1}));
}

TEST_F(NodeRegistryTest, TheScalerSeesSinceWhenANodeIsIdleAndWhetherItsSizeIsRight) {
  add("a");
  clock_.advance(seconds(10));
  ASSERT_TRUE(reserve("run-1", "a", {.cpus = 1, .memory_bytes = 1}));
  clock_.advance(seconds(10));
  registry_.release({RunId("run-1"), 1, 0});
  const auto nodes = registry_.scaler_view(kCluster, kCapacity);
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].since, clock_.monotonic());
  EXPECT_FALSE(nodes[0].outdated);
  NodeCapacity larger = kCapacity;
  larger.cpus = 4;
  EXPECT_TRUE(registry_.scaler_view(kCluster, larger)[0].outdated);
}

TEST_F(NodeRegistryTest, CountsByStateWithinTheCluster) {
  add("a");
  add("b");
  add("c", false);
  ASSERT_TRUE(reserve("run-1", "b", {.cpus = 1, .memory_bytes = 1}));
  const NodeCounts counts = registry_.counts(kCluster);
  EXPECT_EQ(counts.idle, 1);
  EXPECT_EQ(counts.busy, 1);
  EXPECT_EQ(counts.starting, 1);
  EXPECT_EQ(registry_.counts({WorkspaceName("other"), ClusterName("cpu")}).idle, 0);
  EXPECT_EQ(registry_.counts_all().busy, 1);
}

TEST_F(NodeRegistryTest, IsWrittenAsTheApiSays) {
  add("a");
  ASSERT_TRUE(reserve("run-1", "a", {.cpus = 0.5, .memory_bytes = 1 << 20, .gpus = 1}, {4}));
  const json::object node = to_json(*registry_.find(NodeId("a")));
  EXPECT_EQ(node.at("id").as_string(), "a");
  EXPECT_EQ(node.at("cluster").as_string(), "cpu");
  EXPECT_EQ(node.at("state").as_string(), "busy");
  EXPECT_EQ(node.at("free").at("cpus").as_double(), 1.5);
  EXPECT_EQ(node.at("free").at("gpus").as_int64(), 1);
  EXPECT_EQ(node.at("runs").as_array(), (json::array{"run-1"}));
  EXPECT_EQ(node.at("pid").as_int64(), 77);
  EXPECT_TRUE(node.at("last_seen_at").is_string());
}

TEST_F(NodeRegistryTest, GpusThatFewestNodesHaveAreGivenFirst) {
  Machine machine;
  for (int i = 0; i < 6; ++i) machine.gpus.push_back({.index = i, .name = "H200", .uuid = ""});
  add("a");  // has 4 and 5
  EXPECT_THAT(registry_.least_used_gpus(machine, 2), ElementsAre(0, 1));
  EXPECT_THAT(registry_.least_used_gpus(machine, 5), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(registry_.least_used_gpus(machine, 9).size(), 6U);
}

TEST_F(NodeRegistryTest, MayBeUsedFromManyThreads) {
  for (int i = 0; i < 4; ++i) add("n" + std::to_string(i));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const NodeId node("n" + std::to_string(t));
      for (int i = 0; i < 200; ++i) {
        const AttemptKey key{RunId("run-" + std::to_string(t)), i + 1, 0};
        EXPECT_TRUE(registry_.reserve(key, {node, {.cpus = 1, .memory_bytes = 1}, {}}));
        EXPECT_TRUE(registry_.heard_from(node));
        EXPECT_EQ(registry_.scheduler_view(kCluster).size(), 4U);
        EXPECT_EQ(registry_.release(key), node);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry_.counts(kCluster).idle, 4);
}

}  // namespace
}  // namespace slipway::compute

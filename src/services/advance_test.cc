#include "services/advance.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace slipway::services {
namespace {

// A service that the controller would look after, without one: what is decided is carried out at once.
class AdvanceTest : public ::testing::Test {
 protected:
  AdvanceTest() {
    facts.service.name = "digits-svc";
    facts.service.scaling = {.min = 1, .max = 4};
    add_revision(1);
  }

  void add_revision(int number) {
    for (Revision& revision : facts.revisions)
      if (revision.state == RevisionState::kLoading) revision.state = RevisionState::kSuperseded;
    Revision revision;
    revision.number = number;
    facts.revisions.push_back(revision);
    facts.service.last_revision = number;
  }
  Changes look() {
    Changes changes = advance(facts, {moment.time_since_epoch().count() / 1000}, moment);
    for (const int revision : changes.start) {
      ReplicaFacts fresh;
      fresh.replica.number = ++last_replica;
      fresh.replica.revision = revision;
      facts.replicas.push_back(fresh);
    }
    for (const Happening& event : changes.events)
      facts.service.state = decide(facts.service.state, event.kind);
    std::erase_if(facts.replicas,
                  [](const ReplicaFacts& one) { return one.replica.state == ReplicaState::kEnded; });
    for (const Replica& canceled : changes.cancel)
      std::erase_if(facts.replicas,
                    [&](const ReplicaFacts& one) { return one.replica.number == canceled.number; });
    return changes;
  }
  ReplicaFacts& replica(int64_t number) {
    return *std::ranges::find_if(facts.replicas,
                                 [&](const ReplicaFacts& one) { return one.replica.number == number; });
  }
  void answer(int64_t number) { replica(number).endpoint = "127.0.0.1:1"; }
  void die(int64_t number, std::string why = "exit code 1") {
    replica(number).run_ended = true;
    replica(number).outcome = std::move(why);
  }
  std::vector<ReplicaState> states(int revision) const {
    std::vector<ReplicaState> found;
    for (const ReplicaFacts& one : facts.replicas)
      if (one.replica.revision == revision) found.push_back(one.replica.state);
    return found;
  }
  static bool has(const Changes& changes, EventKind kind) {
    return std::ranges::count(changes.events, kind, &Happening::kind) > 0;
  }
  void become_healthy() {
    look();
    answer(last_replica);
    look();
    ASSERT_EQ(facts.service.state, ServiceState::kHealthy);
  }

  Facts facts;
  Monotonic moment{std::chrono::hours(100)};
  int64_t last_replica = 0;
};

TEST_F(AdvanceTest, ServesOnceTheFirstReplicaAnswers) {
  const Changes first = look();
  EXPECT_EQ(first.start, std::vector{1});
  EXPECT_EQ(facts.service.state, ServiceState::kTransitioning);
  EXPECT_TRUE(look().nothing_stored()) << "it waits";
  answer(1);
  const Changes ready = look();
  EXPECT_TRUE(has(ready, EventKind::kSwitched));
  EXPECT_EQ(facts.service.revision, 1);
  EXPECT_EQ(facts.service.state, ServiceState::kHealthy);
  EXPECT_TRUE(look().nothing_stored());
}

TEST_F(AdvanceTest, LoadsANewVersionBesideTheOldOneAndThenSwitches) {
  become_healthy();
  add_revision(2);
  EXPECT_EQ(look().start, std::vector{2});
  EXPECT_EQ(states(1), std::vector{ReplicaState::kReady}) << "the old one goes on";
  replica(1).under_way = 3;
  answer(2);
  const Changes switched = look();
  EXPECT_TRUE(has(switched, EventKind::kSwitched));
  EXPECT_EQ(facts.service.revision, 2);
  EXPECT_EQ(states(1), std::vector{ReplicaState::kDraining});
  EXPECT_TRUE(switched.cancel.empty()) << "it has requests under way";
  EXPECT_TRUE(switched.look_again);
  replica(1).under_way = 0;
  EXPECT_EQ(look().cancel.size(), 1U);
}

TEST_F(AdvanceTest, WaitsForAsManyReplicasOfTheNewVersionAsTheOldOneHas) {
  facts.service.wanted = 2;
  become_healthy();
  answer(1);
  look();
  add_revision(2);
  EXPECT_EQ(look().start, (std::vector{2, 2}));
  answer(3);
  look();
  EXPECT_EQ(facts.service.revision, 1);
  answer(4);
  look();
  EXPECT_EQ(facts.service.revision, 2);
}

TEST_F(AdvanceTest, KeepsTheOldVersionWhenTheNewOneDoesNotLoad) {
  become_healthy();
  add_revision(2);
  look();
  for (int tries = 1; tries <= kLoadTries; ++tries) {
    die(last_replica, "the model is broken");
    const Changes died = look();
    EXPECT_EQ(has(died, EventKind::kUpdateFailed), tries == kLoadTries);
    moment += std::chrono::minutes(1);
    look();
  }
  EXPECT_EQ(facts.revisions[1].state, RevisionState::kFailed);
  EXPECT_EQ(facts.revisions[1].reason, "the model is broken");
  EXPECT_EQ(facts.service.state, ServiceState::kHealthy);
  EXPECT_EQ(facts.service.revision, 1);
  EXPECT_EQ(states(1), std::vector{ReplicaState::kReady});
  EXPECT_TRUE(states(2).empty());
}

TEST_F(AdvanceTest, FailsWhenTheFirstVersionDoesNotLoad) {
  look();
  die(1);
  look();
  moment += std::chrono::minutes(1);
  look();
  die(2, "no such file");
  look();
  EXPECT_EQ(facts.service.state, ServiceState::kFailed);
  EXPECT_TRUE(look().start.empty()) << "it is not tried again by itself";
  add_revision(2);
  facts.service.state = decide(facts.service.state, EventKind::kUpdated);
  EXPECT_EQ(facts.service.state, ServiceState::kTransitioning);
  EXPECT_EQ(look().start, std::vector{2});
}

TEST_F(AdvanceTest, StartsACrashedReplicaAgainAtGrowingIntervals) {
  become_healthy();
  Duration last{0};
  for (int crash = 1; crash <= 10; ++crash) {
    die(last_replica);
    const Changes died = look();
    EXPECT_TRUE(has(died, EventKind::kReplicaEnded));
    EXPECT_EQ(facts.service.state, ServiceState::kUnhealthy);
    ASSERT_TRUE(died.start.empty());
    ASSERT_TRUE(died.look_again);
    const auto pause = std::chrono::duration_cast<Duration>(*died.look_again - moment);
    EXPECT_GE(pause, last);
    EXPECT_LE(pause, Duration(kLongestPause));
    last = pause;
    moment = *died.look_again;
    ASSERT_EQ(look().start.size(), 1U) << "it never gives up what has served";
    answer(last_replica);
    EXPECT_TRUE(has(look(), EventKind::kReady));
    EXPECT_EQ(facts.service.state, ServiceState::kHealthy);
  }
  EXPECT_EQ(last, Duration(kLongestPause));
}

TEST_F(AdvanceTest, ForgetsCrashesOfAReplicaThatLivedLong) {
  become_healthy();
  for (int crash = 0; crash < 5; ++crash) {
    moment += std::chrono::hours(1);
    die(last_replica);
    const Changes died = look();
    moment = *died.look_again;
    look();
    answer(last_replica);
    look();
  }
  EXPECT_EQ(facts.paces[1].failures, 1);
}

TEST_F(AdvanceTest, ScalesUpAndLetsTheIdlestGoWhenItScalesDown) {
  become_healthy();
  facts.service.wanted = 3;
  EXPECT_EQ(look().start.size(), 2U);
  answer(2);
  answer(3);
  look();
  replica(1).under_way = 2;
  replica(2).under_way = 1;
  replica(3).under_way = 5;
  facts.service.wanted = 2;
  look();
  EXPECT_EQ(replica(2).replica.state, ReplicaState::kDraining);
  EXPECT_EQ(states(1).size(), 3U);
}

TEST_F(AdvanceTest, ReplacesAReplicaWhoseNodeIsSilentAndTakesItBack) {
  become_healthy();
  replica(1).silent = true;
  EXPECT_EQ(look().start.size(), 1U) << "another one is started beside it";
  EXPECT_EQ(replica(1).replica.state, ReplicaState::kReady) << "it may answer still";
  EXPECT_EQ(facts.service.state, ServiceState::kHealthy);
  answer(2);
  look();
  replica(1).unreachable = true;
  look();
  EXPECT_TRUE(std::ranges::none_of(facts.replicas, [](const auto& one) { return one.replica.number == 1; }))
      << "nobody reaches it: it is let go";
}

TEST_F(AdvanceTest, EndsAllReplicasOfADeletedService) {
  become_healthy();
  add_revision(2);
  look();
  facts.service.deleted_at = Timestamp{1};
  replica(1).under_way = 1;
  const Changes deleted = look();
  EXPECT_EQ(deleted.cancel.size(), 1U) << "the one that loads has nothing under way";
  EXPECT_EQ(states(1), std::vector{ReplicaState::kDraining});
  moment += kDrainTime;
  EXPECT_EQ(look().cancel.size(), 1U) << "it has had long enough";
  EXPECT_TRUE(deleted.start.empty());
}

TEST_F(AdvanceTest, LeavesAVersionThatANewerOneCameBefore) {
  become_healthy();
  add_revision(2);
  look();
  add_revision(3);
  EXPECT_EQ(look().start, std::vector{3});
  EXPECT_TRUE(states(2).empty());
  answer(last_replica);
  look();
  EXPECT_EQ(facts.service.revision, 3);
}

}  // namespace
}  // namespace slipway::services

// What nodes are told by their orders, and what of their word becomes the reason of a run.
#include "runs/life_fixture.h"

namespace slipway::runs {
namespace {

TEST_F(LifeOfARun, NodesOfAnAttemptThatWasGivenUpAreToldByTheirOrders) {
  const RunRecord run = submit(2);
  bring_up(2);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kPreparing; }));
  const auto both = parts(run.id);
  ASSERT_EQ(both.size(), 2U);
  const auto orders = order_stream(store_.database(), nodes_, both[1].node);
  EXPECT_THAT(names_of(orders->next()), testing::ElementsAre("start"));
  EXPECT_THAT(names_of(orders->next()), testing::IsEmpty());
  ASSERT_TRUE(attempts_.preparation_failed(both[0].node, both[0].key, "its disk is full"));
  const auto told = orders->next();
  EXPECT_THAT(names_of(told), testing::ElementsAre("fence"));
  EXPECT_EQ(attempt_key_from_json(parse_json_object(told->front().data, "an order").value()).value(),
            both[1].key);
  EXPECT_THAT(names_of(orders->next()), testing::IsEmpty()) << "once is enough";
}

TEST_F(LifeOfARun, WhatEndedAsItShouldIsNotFenced) {
  const RunRecord run = submit();
  bring_up(1);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kPreparing; }));
  const auto orders = order_stream(store_.database(), nodes_, parts(run.id).front().node);
  EXPECT_THAT(names_of(orders->next()), testing::ElementsAre("start"));
  run_to_its_end(run.id, 0);
  EXPECT_THAT(names_of(orders->next()), testing::IsEmpty());
}

TEST_F(LifeOfARun, WhereMpirunFailsTheNodesSayWhichRankItWas) {
  const RunRecord run = submit(2, "", JobPriority::kNormal, LauncherKind::kMpi);
  bring_up(2);
  ASSERT_TRUE(eventually([&] { return state(run.id) == RunState::kPreparing; }));
  const auto both = parts(run.id);
  for (const Part& part : both) ASSERT_TRUE(attempts_.claim(part.node, part.key));
  ASSERT_TRUE(
      attempts_.take_journal(both[0].node, both[0].key, 0, journal_of(7, "", "mpirun: exited with code 7")));
  const std::string seen = "rank 3: exited with code 7; it printed last: out of steam";
  const std::string note =
      journal::encode_record(Kind::kPhase, 1, clock_.now(),
                             json::serialize(json::object{{"phase", "rank-exited"}, {"detail", seen}}));
  ASSERT_TRUE(attempts_.take_journal(both[1].node, both[1].key, 0, note));
  ASSERT_TRUE(attempts_.take_journal(both[1].node, both[1].key, note.size(), journal_of(0)));
  for (const Part& part : both) ASSERT_TRUE(attempts_.finished(part.node, part.key));
  EXPECT_EQ(state(run.id), RunState::kFailed);
  EXPECT_EQ(now(run.id).exit_code, 7);
  EXPECT_EQ(now(run.id).reason, seen);
  expect_history_matches(run.id);
}

}  // namespace
}  // namespace slipway::runs

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

}  // namespace
}  // namespace slipway::runs

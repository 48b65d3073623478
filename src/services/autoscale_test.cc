#include "services/autoscale.h"

#include <gtest/gtest.h>

namespace slipway::services {
namespace {

class AutoscaleTest : public ::testing::Test {
 protected:
  // The number of replicas after `time` of a steady load.
  int after(int under_way, Duration time) {
    for (const Monotonic end = now + time; now < end; now += std::chrono::milliseconds(250))
      current = scaler.decide(scaling, current, under_way, now);
    return current;
  }

  Scaling scaling{.min = 1, .max = 4, .target_utilization = 50, .max_concurrent_requests = 4};
  Autoscaler scaler;
  Monotonic now{std::chrono::hours(1)};
  int current = 1;
};

TEST_F(AutoscaleTest, FollowsTheLoadUp) {
  EXPECT_EQ(after(0, std::chrono::seconds(5)), 1);
  EXPECT_EQ(after(6, std::chrono::seconds(15)), 3);
  EXPECT_EQ(after(1000, std::chrono::seconds(15)), 4) << "never beyond the bounds";
}

TEST_F(AutoscaleTest, DoesNotMoveForAMoment) {
  after(1, std::chrono::seconds(5));
  after(8, std::chrono::milliseconds(250));
  EXPECT_EQ(after(1, std::chrono::seconds(5)), 1);
}

TEST_F(AutoscaleTest, GoesDownOneByOneAfterAWhile) {
  after(8, std::chrono::seconds(15));
  ASSERT_EQ(current, 4);
  EXPECT_EQ(after(0, std::chrono::seconds(55)), 4);
  EXPECT_EQ(after(0, std::chrono::seconds(15)), 3);
  EXPECT_EQ(after(0, std::chrono::seconds(60)), 2);
  EXPECT_EQ(after(0, std::chrono::minutes(10)), 1);
}

TEST_F(AutoscaleTest, StaysWithTheLargerNumberWhileTheLoadSwings) {
  after(8, std::chrono::seconds(15));
  for (int i = 0; i < 10; ++i) {
    after(1, std::chrono::seconds(20));
    after(8, std::chrono::seconds(20));
    EXPECT_EQ(current, 4);
  }
}

TEST_F(AutoscaleTest, KeepsWithinBoundsThatHaveChanged) {
  current = 9;
  EXPECT_EQ(scaler.decide(scaling, current, 0, now), 4);
  scaling.min = scaling.max = 3;
  EXPECT_EQ(scaler.decide(scaling, 1, 0, now), 3);
}

}  // namespace
}  // namespace slipway::services

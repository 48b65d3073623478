#include <gtest/gtest.h>
#include "base/clock.h"
#include "base/digest.h"
#include "base/ids.h"
#include "base/json.h"
namespace slipway {
TEST(Duration, IsReadWithItsUnit) {
  EXPECT_EQ(*parse_duration("2h"), std::chrono::hours(2));
  EXPECT_FALSE(parse_duration("2 parsecs"));
}
}

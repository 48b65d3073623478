#include "environments/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::environments {
namespace {

TEST(Environment, SystemIsThere) {
  EXPECT_TRUE(check_environment("system"));
}

TEST(Environment, AnUnknownOneIsRefusedWithWhatThereIs) {
  const auto status = check_environment("pytorch-2.1");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(status.error().message, testing::HasSubstr("'pytorch-2.1'"));
  EXPECT_THAT(status.error().next, testing::HasSubstr("'system'"));
}

TEST(Environment, ANameThatIsAPathIsRefused) {
  EXPECT_EQ(check_environment("../x").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(check_environment("").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace slipway::environments

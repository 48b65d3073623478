#include "environments/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::environments {
namespace {

TEST(Environment, SystemIsThereAndAddsNothing) {
  EXPECT_TRUE(check_environment("system"));
  std::string said;
  const auto prepared = prepare("system", [&](std::string_view line) { said += line; });
  ASSERT_TRUE(prepared);
  EXPECT_EQ(prepared->path_prefix, "");
  EXPECT_TRUE(prepared->variables.empty());
  EXPECT_EQ(said, "") << "nothing is built, so nothing is said";
}

TEST(Environment, AnUnknownOneIsRefusedWithWhatThereIs) {
  const auto status = check_environment("pytorch-2.1");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(status.error().message, testing::HasSubstr("'pytorch-2.1'"));
  EXPECT_THAT(status.error().next, testing::HasSubstr("'system'"));
  EXPECT_FALSE(prepare("pytorch-2.1", [](std::string_view) { FAIL() << "nothing is to be built"; }));
}

TEST(Environment, ANameThatIsAPathIsRefused) {
  EXPECT_EQ(check_environment("../x").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(check_environment("").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace slipway::environments

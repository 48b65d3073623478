#include "cli/script.h"

#include <gtest/gtest.h>

namespace slipway::cli {
namespace {

TEST(ScriptOf, FindsTheFileAnInterpreterIsGiven) {
  EXPECT_EQ(script_of({"python", "train.py", "--x", "1"}), "train.py");
  EXPECT_EQ(script_of({"python3.11", "-u", "./src/../train.py"}), "train.py");
  EXPECT_EQ(script_of({"/usr/bin/python3", "-W", "ignore", "pkg/"}), "pkg");
  EXPECT_EQ(script_of({"bash", "run.sh"}), "run.sh");
  EXPECT_EQ(script_of({"./run.sh"}), "run.sh");
  EXPECT_EQ(script_of({"bin/tool", "x"}), "bin/tool");
  EXPECT_EQ(script_of({"python", "../train.py"}), "../train.py");
}

TEST(ScriptOf, KeepsQuietWhenItCannotKnow) {
  EXPECT_EQ(script_of({}), std::nullopt);
  EXPECT_EQ(script_of({"true"}), std::nullopt);
  EXPECT_EQ(script_of({"python"}), std::nullopt);
  EXPECT_EQ(script_of({"python", "-m", "pkg.train"}), std::nullopt);
  EXPECT_EQ(script_of({"python", "-uc", "print(1)"}), std::nullopt);
  EXPECT_EQ(script_of({"python", "/abs/train.py"}), std::nullopt);
  EXPECT_EQ(script_of({"sh", "-c", "echo hi"}), std::nullopt);
  EXPECT_EQ(script_of({"/bin/true"}), std::nullopt);
  EXPECT_EQ(script_of({"python-config", "x"}), std::nullopt);
}

}  // namespace
}  // namespace slipway::cli

#include "cli/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::cli {
namespace {

using testing::ElementsAre;

TEST(SplitWords, QuotesAsAShellDoes) {
  EXPECT_THAT(split_words("python  train.py\t--x 1").value(), ElementsAre("python", "train.py", "--x", "1"));
  EXPECT_THAT(split_words(R"(a 'b c' "d e" f\ g)").value(), ElementsAre("a", "b c", "d e", "f g"));
  EXPECT_THAT(split_words(R"(a""b '' "\"q\" \n")").value(), ElementsAre("ab", "", R"("q" \n)"));
  EXPECT_THAT(split_words("  ").value(), ElementsAre());
}

TEST(SplitWords, ExpandsNothing) {
  EXPECT_THAT(split_words("echo $HOME *.py ~ `id` a|b;c").value(),
              ElementsAre("echo", "$HOME", "*.py", "~", "`id`", "a|b;c"));
}

TEST(SplitWords, RefusesWhatIsNotClosed) {
  EXPECT_FALSE(split_words("a 'b"));
  EXPECT_FALSE(split_words("a \"b"));
  EXPECT_FALSE(split_words("a\\"));
}

TEST(JoinWords, IsReadBackAsTheSameWords) {
  const std::vector<std::string> words{"python", "it's", "", "a b", "x=1", "$HOME", "grün", "\\"};
  EXPECT_EQ(split_words(join_words(words)).value(), words);
  EXPECT_EQ(join_words({"python", "train.py", "--lr=0.1"}), "python train.py --lr=0.1");
}

}  // namespace
}  // namespace slipway::cli

#include "data/preview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::data {
namespace {

using testing::ElementsAre;

TEST(SplitDelimited, KnowsQuotesAndLineEnds) {
  const auto rows = split_delimited(
      "\xef\xbb\xbf"
      "a,b\r\n\"x, \"\"y\"\"\nz\",2\n\n3,",
      ',', false, 10);
  EXPECT_THAT(rows,
              ElementsAre(ElementsAre("a", "b"), ElementsAre("x, \"y\"\nz", "2"), ElementsAre("3", "")));
}

TEST(SplitDelimited, LeavesOutARowThatMayBeHalf) {
  EXPECT_THAT(split_delimited("a\tb\nc\td", '\t', true, 10), ElementsAre(ElementsAre("a", "b")));
  EXPECT_EQ(split_delimited("a\nb\nc\n", ',', false, 2).size(), 2U);
}

}  // namespace
}  // namespace slipway::data

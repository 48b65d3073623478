#include "data/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "data/test_operations.h"

namespace slipway::data {
namespace {

using testing::ElementsAre;

Operation choosing(OperationKind kind, double fraction, uint64_t seed) {
  Operation operation;
  operation.kind = kind;
  operation.fraction = fraction;
  operation.seed = seed;
  return operation;
}

class OperationsTest : public testing::Test {
 protected:
  OperationsTest() {
    for (uint32_t i = 0; i < 1000; ++i) names_.push_back("train/" + std::to_string(1000 + i) + ".png");
    for (uint32_t i = 0; i < names_.size(); ++i) files_.push_back({.path = names_[i], .size = i, .index = i});
  }
  std::set<uint32_t> left(const std::vector<Operation>& operations) {
    std::set<uint32_t> indices;
    for (const Candidate& file : apply(operations, files_)) indices.insert(file.index);
    return indices;
  }

  std::vector<std::string> names_;
  std::vector<Candidate> files_;
};

TEST_F(OperationsTest, AreAppliedOneAfterTheOther) {
  EXPECT_THAT(left({skipping(3), taking(2)}), ElementsAre(3, 4));
  EXPECT_THAT(left({taking(2), skipping(5)}), testing::IsEmpty());
}

TEST_F(OperationsTest, SamplesAreOfTheAskedSizeAndRepeatWithTheirSeed) {
  const Operation tenth = choosing(OperationKind::kSample, 0.1, 7);
  Operation other = tenth;
  other.seed = 8;
  EXPECT_EQ(left({tenth}).size(), 100U);
  EXPECT_EQ(left({tenth}), left({tenth}));
  EXPECT_NE(left({tenth}), left({other}));
  Operation counted = choosing(OperationKind::kSample, 0, 0);
  counted.count = 17;
  EXPECT_EQ(left({counted}).size(), 17U);
  counted.count = 5000;
  EXPECT_EQ(left({counted}).size(), 1000U);
}

TEST_F(OperationsTest, TheTwoPartsOfASplitMissNothingAndShareNothing) {
  const Operation first = choosing(OperationKind::kSplit, 0.8, 3);
  Operation second = first;
  second.rest = true;
  const auto most = left({first});
  const auto rest = left({second});
  EXPECT_EQ(most.size(), 800U);
  EXPECT_EQ(rest.size(), 200U);
  for (const uint32_t index : rest) EXPECT_FALSE(most.contains(index));
}

TEST_F(OperationsTest, FiltersLookAtPathAndSize) {
  EXPECT_EQ(left({matching("100?.png")}).size(), 10U);
  EXPECT_EQ(left({matching("train/100?.png")}).size(), 10U);
  EXPECT_EQ(left({matching("other/*")}).size(), 0U);
  Operation sized = matching("");
  sized.min_size = 4;
  sized.max_size = 6;
  EXPECT_THAT(left({sized}), ElementsAre(4, 5, 6));
}

TEST(ShuffleKey, IsTheSameForever) {
  EXPECT_EQ(shuffle_key("a/b.png", 0), 13026654162610810529ULL);
  EXPECT_EQ(shuffle_key("", 7), 7327937117123367831ULL);
  EXPECT_NE(shuffle_key("a/b.png", 0), shuffle_key("a/b.png", 1));
  EXPECT_NE(shuffle_key("a/b.png", 0), shuffle_key("a/c.png", 0));
}

}  // namespace
}  // namespace slipway::data

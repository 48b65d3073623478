#include "serving/protocols/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::serving {
namespace {

using ::testing::HasSubstr;

Signature taking(DataType type) {
  Signature signature;
  signature.inputs = {{.name = "x", .type = type, .shape = Shape{-1, 2}}};
  return signature;
}

TEST(CsvTest, NumbersBecomeAFrame) {
  const auto split = csv_to_split("a,b\r\n1, -2.5\r\n+3,1e3\n", taking(DataType::kFp32));
  ASSERT_TRUE(split) << split.error().message;
  EXPECT_EQ(*split, R"({"columns":["a","b"],"data":[[1,-2.5],[3,1000.0]]})");
}

TEST(CsvTest, EmptyCellsAreNull) {
  EXPECT_EQ(csv_to_split("a,b\n,nan\n\n", taking(DataType::kFp64)).value(),
            R"({"columns":["a","b"],"data":[[null,null]]})");
}

TEST(CsvTest, TextMayBeQuoted) {
  EXPECT_EQ(csv_to_split("\"a \"\"b\"\"\",c\n\"1,2\n\",x", taking(DataType::kBytes)).value(),
            R"({"columns":["a \"b\"","c"],"data":[["1,2\n","x"]]})");
}

TEST(CsvTest, WhatDoesNotFitIsNamed) {
  const Signature signature = taking(DataType::kFp32);
  EXPECT_THAT(csv_to_split("", signature).error().message, HasSubstr("empty"));
  EXPECT_THAT(csv_to_split("a,b\n1\n", signature).error().message, HasSubstr("line 2 has 1 cells"));
  EXPECT_THAT(csv_to_split("a,b\n1,x\n", signature).error().message, HasSubstr("column 2 of line 2"));
  EXPECT_THAT(csv_to_split("a,b\n1,\"2\n", signature).error().message, HasSubstr("quoted cell"));
  EXPECT_THAT(csv_to_split("a,b\n1,\"2\"3\n", signature).error().message, HasSubstr("quoted cell"));
}

}  // namespace
}  // namespace slipway::serving

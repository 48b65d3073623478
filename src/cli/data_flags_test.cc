#include "cli/data_flags.h"

#include <gtest/gtest.h>

namespace slipway::cli {
namespace {

TEST(DataFlags, ReadAnInput) {
  const auto plain = parse_input_flag("mnist=mnist");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->first, "mnist");
  EXPECT_EQ(plain->second,
            (JobInput{.dataset = "mnist", .mode = DataMode::kMount, .path = "", .verify = true}));
  EXPECT_EQ(parse_input_flag("a=download:mnist:2")->second,
            (JobInput{.dataset = "mnist:2", .mode = DataMode::kDownload, .path = "", .verify = true}));
  EXPECT_EQ(parse_input_flag("a=mnist:2,path=data/in,verify=no")->second,
            (JobInput{.dataset = "mnist:2", .mode = DataMode::kMount, .path = "data/in", .verify = false}));
  for (const char* text : {"", "a", "=x", "a=", "a=mount:", "a=x,verify=maybe", "a=x,other=1"})
    EXPECT_FALSE(parse_input_flag(text)) << text;
}

TEST(DataFlags, ReadAnOutput) {
  EXPECT_EQ(parse_output_flag("model")->second, JobOutput());
  EXPECT_EQ(parse_output_flag("model,register=m")->second.register_as, "m");
  const auto full = parse_output_flag("model=mount:images:models/new/,register=m,overwrite=yes");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->first, "model");
  EXPECT_EQ(full->second, (JobOutput{.datastore = "images",
                                     .path = "models/new",
                                     .mode = OutputMode::kMount,
                                     .register_as = "m",
                                     .overwrite = true}));
  EXPECT_EQ(parse_output_flag("model=upload:models")->second.path, "models");
  EXPECT_EQ(parse_output_flag("model=upload")->second, JobOutput());
  for (const char* text : {"", "=x", "a=x,overwrite=perhaps", "a,other=1"})
    EXPECT_FALSE(parse_output_flag(text)) << text;
}

}  // namespace
}  // namespace slipway::cli

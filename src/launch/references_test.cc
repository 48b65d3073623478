#include "launch/references.h"

#include <gtest/gtest.h>

namespace slipway::launch {
namespace {

const DataPaths kData{.inputs = {{"mnist", "/data/mnist"}, {"one", "/data/one/file.csv"}, {"PATH", "/x"}},
                      .outputs = {{"model", "/work/model"}}};

TEST(References, BecomePathsWhereverTheyStand) {
  EXPECT_EQ(put_paths("${inputs.mnist}", kData).value(), "/data/mnist");
  EXPECT_EQ(put_paths("--data=${inputs.mnist}/train,${inputs.one}", kData).value(),
            "--data=/data/mnist/train,/data/one/file.csv");
  EXPECT_EQ(put_paths("${outputs.model}", kData).value(), "/work/model");
  EXPECT_EQ(put_paths("$AZUREML_DATAREFERENCE_mnist", kData).value(), "/data/mnist");
  EXPECT_EQ(put_paths("$AZUREML_DATAREFERENCE_model/x", kData).value(), "/work/model/x");
}

TEST(References, LeaveOtherTextAlone) {
  for (const char* text :
       {"", "$", "$$", "${", "${inputs.", "${inputs.}", "${inputs.mnist", "$HOME", "a$", "${input.x}",
        "$AZUREML_DATAREFERENCE_other", "$AZUREML_DATAREFERENCE_", "${inputs.a b}"})
    EXPECT_EQ(put_paths(text, kData).value(), text);
}

TEST(References, ToAnUnknownNameAreAnErrorThatSaysIt) {
  const auto result = put_paths("${inputs.mnits}", kData);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "the command names ${inputs.mnits}, and the run has no input of that name");
  EXPECT_FALSE(put_paths("${outputs.mnist}", kData)) << "an input is no output";
}

TEST(References, StandInTheEnvironmentToo) {
  const auto variables = data_variables(kData);
  EXPECT_EQ(variables.at("mnist"), "/data/mnist");
  EXPECT_EQ(variables.at("model"), "/work/model");
  EXPECT_EQ(variables.at("AZUREML_DATAREFERENCE_one"), "/data/one/file.csv");
  EXPECT_FALSE(variables.contains("PATH")) << "a name must not change how programs are found";
}

}  // namespace
}  // namespace slipway::launch

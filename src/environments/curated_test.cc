#include "environments/curated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "environments/definition.h"

namespace slipway::environments {
namespace {

std::string nearest(std::string_view name) {
  const CuratedEnvironment* found = nearest_curated(name);
  return found == nullptr ? "" : found->name + ":" + std::to_string(found->version);
}

TEST(Curated, EachIsAGoodDefinitionWithAscendingVersions) {
  std::set<std::string> names;
  const CuratedEnvironment* before = nullptr;
  for (const CuratedEnvironment& environment : curated_environments()) {
    const auto checked = checked_definition(environment.definition);
    ASSERT_TRUE(checked) << environment.name << ": " << checked.error().message;
    EXPECT_EQ(*checked, environment.definition) << environment.name;
    if (before != nullptr && before->name == environment.name) {
      EXPECT_EQ(before->version + 1, environment.version);
    }
    names.insert(environment.name);
    before = &environment;
  }
  EXPECT_THAT(names, testing::ElementsAre("curated/base", "curated/horovod", "curated/onnx",
                                          "curated/pytorch", "curated/scikit-learn", "curated/tensorflow"));
}

TEST(Curated, AreFoundByNameAndVersion) {
  EXPECT_EQ(find_curated({"curated/tensorflow", 0})->version, 3);
  EXPECT_EQ(find_curated({"curated/tensorflow", 1})->version, 1);
  EXPECT_EQ(find_curated({"curated/tensorflow", 9}).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(find_curated({"curated/none", 0}).error().next, testing::HasSubstr("curated/scikit-learn"));
}

TEST(Curated, NamesOfAzuresResolveToTheNearest) {
  EXPECT_EQ(nearest("AzureML-TensorFlow-2.0-GPU"), "curated/tensorflow:2");
  EXPECT_EQ(nearest("AzureML-TensorFlow-1.13-CPU"), "curated/tensorflow:1");
  EXPECT_EQ(nearest("AzureML-tensorflow-2.16-cuda11"), "curated/tensorflow:3");
  EXPECT_EQ(nearest("AzureML-PyTorch-1.6-GPU"), "curated/pytorch:1");
  EXPECT_EQ(nearest("AzureML-PyTorch-2.2-CPU"), "curated/pytorch:2");
  EXPECT_EQ(nearest("AzureML-Minimal"), "curated/base:1");
  EXPECT_EQ(nearest("AzureML-Tutorial"), "curated/scikit-learn:1");
  EXPECT_EQ(nearest("AzureML-sklearn-0.24-ubuntu18.04-py37-cpu"), "curated/scikit-learn:1");
  EXPECT_EQ(nearest("AzureML-VowpalWabbit-8.8.0"), "");
}

TEST(Curated, PrefixesAreReservedInAnyCase) {
  EXPECT_TRUE(is_reserved_name("AzureML-x"));
  EXPECT_TRUE(is_reserved_name("azureml"));
  EXPECT_TRUE(is_reserved_name("MICROSOFT-x"));
  EXPECT_FALSE(is_reserved_name("my-azureml"));
}

}  // namespace
}  // namespace slipway::environments

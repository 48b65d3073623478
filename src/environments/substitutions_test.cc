#include "environments/substitutions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "environments/key.h"
#include "environments/python_request.h"

namespace slipway::environments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

EnvironmentDefinition azure() {
  EnvironmentDefinition definition;
  definition.python = "3.6.2";
  definition.pip = {"azureml-core==1.20.0", "azureml-defaults", "azureml-dataprep[pandas]",
                    "tensorflow-gpu==2.2.0", "horovod==0.19.5"};
  definition.container.enabled = true;
  definition.container.image = "mcr.microsoft.com/azureml/base-gpu:openmpi3.1.2-cuda10.1";
  return definition;
}

TEST(Substitutions, ByDefaultOnlyWhatIsAzuresIsReplaced) {
  const Substituted result = apply_substitutions(azure(), default_substitutions());
  EXPECT_EQ(result.definition.python, "3.6.2");
  EXPECT_THAT(result.definition.pip, ElementsAre("slipway-azureml", "slipway-azureml[pandas]",
                                                 "tensorflow-gpu==2.2.0", "horovod==0.19.5"));
  EXPECT_FALSE(result.definition.container.enabled);
  EXPECT_EQ(result.definition.container.image, "");
  ASSERT_EQ(result.applied.size(), 4U);
  EXPECT_THAT(result.applied[0], HasSubstr("without a container"));
  EXPECT_THAT(result.applied[1], HasSubstr("azureml-core==1.20.0 is met by slipway-azureml"));
}

TEST(Substitutions, AnImageThatIsAllThereIsStays) {
  EnvironmentDefinition definition;
  definition.container.enabled = true;
  definition.container.image = "mcr.microsoft.com/azureml/base:1";
  EXPECT_EQ(apply_substitutions(definition, default_substitutions()).definition, definition);
}

TEST(Substitutions, TheWorkspacesRulesComeFirstAndKeepTheVersion) {
  std::vector<Substitution> rules{{"package", "tensorflow_GPU", "tensorflow-cpu"},
                                  {"package", "horovod", ""},
                                  {"python", "3.6", "3.8"},
                                  {"image", "mcr.microsoft.com/*", "debian:12"}};
  rules.insert(rules.end(), default_substitutions().begin(), default_substitutions().end());
  const Substituted result = apply_substitutions(azure(), rules);
  EXPECT_EQ(result.definition.python, "3.8");
  EXPECT_THAT(result.definition.pip,
              ElementsAre("slipway-azureml", "slipway-azureml[pandas]", "tensorflow-cpu==2.2.0"));
  EXPECT_TRUE(result.definition.container.enabled);
  EXPECT_EQ(result.definition.container.image, "debian:12");
  EXPECT_THAT(result.applied,
              testing::Contains("package horovod==0.19.5 is left out by a rule of the workspace"));
}

TEST(Substitutions, ACondaPackageIsReplacedByAPipOne) {
  EnvironmentDefinition definition;
  definition.conda = {"tensorflow-gpu=2.2", "numpy"};
  const Substituted result =
      apply_substitutions(definition, {{"package", "tensorflow-gpu", "tensorflow-cpu"}});
  EXPECT_THAT(result.definition.conda, ElementsAre("numpy"));
  EXPECT_THAT(result.definition.pip, ElementsAre("tensorflow-cpu==2.2.*"));
}

TEST(Substitutions, AVersionIsNoPrefixOfAnotherNumber) {
  EnvironmentDefinition definition;
  definition.python = "3.10";
  EXPECT_THAT(apply_substitutions(definition, {{"python", "3.1", "3.8"}}).applied, IsEmpty());
}

TEST(Substitutions, RulesAreChecked) {
  EXPECT_TRUE(check_substitution({"package", "tensorflow-gpu", "tensorflow-cpu==2.2"}));
  EXPECT_TRUE(check_substitution({"python", "3.6", "3.8"}));
  EXPECT_TRUE(check_substitution({"image", "mcr.microsoft.com/*", ""}));
  EXPECT_FALSE(check_substitution({"package", "*", "x"}));
  EXPECT_FALSE(check_substitution({"package", "a b", "x"}));
  EXPECT_FALSE(check_substitution({"package", "a", "./x"}));
  EXPECT_FALSE(check_substitution({"python", "three", "3.8"}));
  EXPECT_FALSE(check_substitution({"python", "3.6", "old"}));
  EXPECT_FALSE(check_substitution({"image", "x y", ""}));
  EXPECT_FALSE(check_substitution({"image", "x", "a b"}));
}

TEST(Key, CoversTheContentAndNothingElse) {
  EnvironmentDefinition a;
  a.pip = {"numpy==1.2", "Foo_Bar"};
  EnvironmentDefinition b = a;
  b.pip = {"foo-bar", "numpy == 1.2", "numpy==1.2"};
  b.variables = {{"X", "1"}};
  b.container.image = "debian:12";  // not enabled: not used
  b.container.shm_size = "4g";
  EXPECT_EQ(environment_key(a), environment_key(b));
  b.container.enabled = true;
  EXPECT_NE(environment_key(a), environment_key(b));
  EnvironmentDefinition c = a;
  c.python = "3.8";
  EXPECT_NE(environment_key(a), environment_key(c));
  c = a;
  c.pip.emplace_back("--pre");
  EXPECT_NE(environment_key(a), environment_key(c));
  EXPECT_EQ(environment_key(a).size(), 64U);
}

TEST(Key, OfAUserManagedOneIsTheInterpreter) {
  EnvironmentDefinition a;
  a.user_managed = true;
  EnvironmentDefinition b = a;
  b.pip = {"numpy"};
  EXPECT_EQ(environment_key(a), environment_key(b));
  b.interpreter = "/usr/bin/python3";
  EXPECT_NE(environment_key(a), environment_key(b));
  EXPECT_FALSE(needs_build(a));
}

TEST(PythonRequest, AnExactPatchReleaseIsOnlyPreferred) {
  const PythonRequest exact = *PythonRequest::parse("3.6.2");
  EXPECT_TRUE(exact.allows({3, 6, 15}));
  EXPECT_FALSE(exact.is_exactly({3, 6, 15}));
  EXPECT_TRUE(exact.is_exactly({3, 6, 2}));
  EXPECT_FALSE(exact.allows({3, 7, 2}));
  EXPECT_LT(exact.distance({3, 6, 4}), exact.distance({3, 6, 15}));
}

TEST(PythonRequest, TakesRanges) {
  const PythonRequest range = *PythonRequest::parse(">=3.8,<3.11");
  EXPECT_TRUE(range.allows({3, 8, 0}));
  EXPECT_TRUE(range.allows({3, 10, 9}));
  EXPECT_FALSE(range.allows({3, 11, 0}));
  EXPECT_LT(range.distance({3, 10, 9}), range.distance({3, 8, 0}));
  EXPECT_TRUE(PythonRequest::parse("~=3.8")->allows({3, 12, 0}));
  EXPECT_FALSE(PythonRequest::parse("~=3.8.2")->allows({3, 9, 0}));
  EXPECT_FALSE(PythonRequest::parse(">3.8")->allows({3, 8, 5}));
  EXPECT_TRUE(PythonRequest::parse("3")->allows({3, 12, 0}));
  EXPECT_TRUE(PythonRequest::parse("")->allows({3, 12, 0}));
  EXPECT_FALSE(PythonRequest::parse("new"));
  EXPECT_FALSE(PythonRequest::parse("3.x"));
}

TEST(PythonRequest, ReadsVersionsOfInterpreters) {
  EXPECT_EQ(*parse_python_version("3.11.2"), (PythonVersion{3, 11, 2}));
  EXPECT_EQ(*parse_python_version("3.13.0rc1"), (PythonVersion{3, 13, 0}));
  EXPECT_FALSE(parse_python_version("Python"));
}

}  // namespace
}  // namespace slipway::environments

#include "environments/conda_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "environments/conda_names.h"
#include "environments/conda_spec.h"

namespace slipway::environments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kAzure = R"(name: project_environment
channels:
- conda-forge
dependencies:
- python=3.6.2
- pip=20.2
- numpy=1.18
- conda-forge::xgboost>=1.0,<1.3
- pip:
  - azureml-defaults
  - tensorflow-gpu==2.2.0
variables:
  A: "1"
prefix: /somewhere
)";

Result<CondaFile> read(std::string_view text) {
  return parse_conda_file(text, "env.yml", nothing_to_include);
}

TEST(CondaFile, SplitsPythonCondaAndPip) {
  const auto file = read(kAzure);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->name, "project_environment");
  EXPECT_EQ(file->definition.python, "3.6.2");
  EXPECT_THAT(file->definition.conda, ElementsAre("numpy=1.18", "conda-forge::xgboost>=1.0,<1.3"));
  EXPECT_THAT(file->definition.pip, ElementsAre("azureml-defaults", "tensorflow-gpu==2.2.0"));
  EXPECT_THAT(file->definition.conda_channels, ElementsAre("conda-forge"));
  EXPECT_EQ(file->definition.variables.at("A"), "1");
}

TEST(CondaFile, IsReadBackAsItWasWritten) {
  const auto first = read(kAzure);
  EnvironmentDefinition definition = first->definition;
  definition.variables.clear();
  const auto again = read(conda_file_text(definition, "x"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->definition, definition);
  EXPECT_EQ(again->name, "x");
}

TEST(CondaFile, NamesTheBrokenLine) {
  const auto tab = read("name: x\ndependencies:\n- python=3.8\n- [numpy\nother: y\n");
  ASSERT_FALSE(tab);
  EXPECT_THAT(tab.error().message, testing::MatchesRegex("env.yml:[45]:.*not YAML.*"));
  EXPECT_THAT(read("dependencies:\n- numpy==\n").error().message, StartsWith("env.yml:2:3: "));
  EXPECT_THAT(read("dependencies:\n- python=x.y\n").error().message, StartsWith("env.yml:2:3: "));
  EXPECT_THAT(read("dependencies:\n- pip:\n  - flask\n  - ./local\n").error().message,
              StartsWith("env.yml:4:5: './local' is a local path"));
  EXPECT_THAT(read("dependencies:\n- npm:\n  - x\n").error().message, HasSubstr("unknown section 'npm'"));
  EXPECT_THAT(read("deps: []\n").error().message, HasSubstr("unknown key 'deps'"));
  EXPECT_THAT(read("name: x\n").error().message, HasSubstr("no 'dependencies'"));
  EXPECT_FALSE(read(""));
  EXPECT_FALSE(read("dependencies: numpy"));
}

TEST(CondaSpec, ReadsEveryFormOfAVersion) {
  EXPECT_EQ(parse_conda_spec("numpy=1.18=py36_0")->build, "py36_0");
  EXPECT_EQ(parse_conda_spec("numpy 1.18")->constraint, "==1.18");
  EXPECT_EQ(parse_conda_spec("numpy >=1.18, <2")->constraint, ">=1.18,<2");
  EXPECT_EQ(parse_conda_spec("numpy[version='>=1.18,<2',build=x]")->constraint, ">=1.18,<2");
  EXPECT_EQ(parse_conda_spec("numpy=*")->constraint, "");
  EXPECT_EQ(to_text(*parse_conda_spec("NumPy 1.18.*")), "numpy=1.18.*");
  EXPECT_FALSE(parse_conda_spec(""));
  EXPECT_FALSE(parse_conda_spec("numpy>="));
  EXPECT_FALSE(parse_conda_spec("numpy; rm -rf /"));
  EXPECT_FALSE(parse_conda_spec("x[version"));
}

TEST(CondaSpec, BecomesWhatPipCallsTheSame) {
  const auto pip = [](std::string_view spec) { return *pip_constraint(*parse_conda_spec(spec)); };
  EXPECT_EQ(pip("numpy=1.18"), "==1.18.*");
  EXPECT_EQ(pip("numpy==1.18.1"), "==1.18.1");
  EXPECT_EQ(pip("numpy=1.18.*"), "==1.18.*");
  EXPECT_EQ(pip("pytz=2021a"), "==2021a");
  EXPECT_EQ(pip("numpy>=1.18,<2"), ">=1.18,<2");
  EXPECT_EQ(pip("numpy"), "");
  EXPECT_EQ(pip_constraint(*parse_conda_spec("numpy=1.2|1.4")).error().code, ErrorCode::kUnsupported);
}

TEST(CondaNames, SayWhatStandsInOnPyPi) {
  EXPECT_EQ(conda_on_pypi("pytorch=1.6")->requirement, "torch==1.6.*");
  EXPECT_EQ(conda_on_pypi("numpy")->requirement, "numpy");
  EXPECT_EQ(conda_on_pypi("cudatoolkit=10.1")->requirement, "");
  EXPECT_THAT(conda_on_pypi("cudatoolkit=10.1")->sentence, HasSubstr("left out"));
  const auto missing = conda_on_pypi("r-base=4.1");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(missing.error().next, HasSubstr("micromamba"));
}

}  // namespace
}  // namespace slipway::environments

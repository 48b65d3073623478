#include "environments/definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "environments/azure_form.h"
#include "environments/definition_files.h"
#include "environments/packages.h"
#include "environments/pyproject.h"

namespace slipway::environments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

EnvironmentDefinition with(const std::function<void(EnvironmentDefinition&)>& change) {
  EnvironmentDefinition definition;
  change(definition);
  return definition;
}

TEST(Definition, IsBroughtIntoCanonicalForm) {
  const auto checked = checked_definition(with([](auto& d) {
    d.python = " 3.8 ";
    d.pip = {"numpy >= 1.2", "-i https://pypi.org/simple"};
    d.conda = {"NumPy 1.18"};
  }));
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->python, "3.8");
  EXPECT_THAT(checked->pip, ElementsAre("numpy>=1.2", "--index-url https://pypi.org/simple"));
  EXPECT_THAT(checked->conda, ElementsAre("numpy==1.18"));
}

TEST(Definition, RefusesWhatCannotBeBuilt) {
  const auto refused = [](const std::function<void(EnvironmentDefinition&)>& change) {
    const auto checked = checked_definition(with(change));
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_THAT(refused([](auto& d) { d.python = "snake"; }), HasSubstr("'snake'"));
  EXPECT_THAT(refused([](auto& d) { d.pip = {"./here"}; }), HasSubstr("local path"));
  EXPECT_THAT(refused([](auto& d) { d.conda = {"python=3.8"}; }), HasSubstr("python=3.8"));
  EXPECT_THAT(refused([](auto& d) { d.conda_channels = {"https://me:secret@host/x"}; }),
              testing::AllOf(HasSubstr("channel"), testing::Not(HasSubstr("secret"))));
  EXPECT_THAT(refused([](auto& d) { d.variables = {{"A=B", "x"}}; }), HasSubstr("variable"));
  EXPECT_THAT(refused([](auto& d) { d.interpreter = "python; reboot"; }), HasSubstr("interpreter"));
  EXPECT_THAT(refused([](auto& d) { d.container.enabled = true; }), HasSubstr("no image"));
  EXPECT_THAT(refused([](auto& d) { d.container.image = "--privileged"; }), HasSubstr("image"));
  EXPECT_THAT(refused([](auto& d) { d.container.shm_size = "lots"; }), HasSubstr("'lots'"));
  EXPECT_THAT(refused([](auto& d) { d.container.arguments = {"--privileged"}; }), HasSubstr("--privileged"));
  EXPECT_EQ(refused([](auto& d) { d.container.arguments = {"--ipc=host"}; }), "");
}

TEST(Definition, ADockerfileHasNoFolderBesideIt) {
  EXPECT_TRUE(
      check_dockerfile("ARG V=12\nFROM debian:$V AS x\nRUN a \\\n  copy b\nCOPY --from=x /a /b\n", "D"));
  EXPECT_THAT(check_dockerfile("FROM x\n\nCOPY . /app\n", "D").error().message,
              StartsWith("D:3: COPY takes local"));
  EXPECT_THAT(check_dockerfile("RUN x\n", "D").error().message, StartsWith("D:1: "));
  EXPECT_FALSE(check_dockerfile("", "D"));
}

TEST(DefinitionFiles, AreKnownByTheirNames) {
  EXPECT_EQ(*kind_of_definition_file("a/env.yml"), DefinitionFile::kConda);
  EXPECT_EQ(*kind_of_definition_file("requirements-dev.txt"), DefinitionFile::kRequirements);
  EXPECT_EQ(*kind_of_definition_file("pyproject.toml"), DefinitionFile::kPyproject);
  EXPECT_EQ(*kind_of_definition_file("Dockerfile"), DefinitionFile::kDockerfile);
  EXPECT_FALSE(kind_of_definition_file("tf"));
  EXPECT_FALSE(kind_of_definition_file("setup.py"));
}

TEST(Pyproject, GivesPythonAndDependencies) {
  const auto project = parse_pyproject(
      "[project]\nname = 'x'\nrequires-python = '>=3.9'\ndependencies = [\n 'numpy>=1.2', \"flask\"\n]\n",
      "p.toml");
  ASSERT_TRUE(project) << project.error().message;
  EXPECT_EQ(project->python, ">=3.9");
  EXPECT_THAT(project->pip, ElementsAre("numpy>=1.2", "flask"));
}

TEST(Pyproject, PassesOverWhatIsForOthers) {
  const auto project = parse_pyproject(R"(# a comment
[build-system]
requires = ["hatchling"]
[project]
name = "x" # one
authors = [{name = "A, B", email = 'a@b'}]
description = """several
lines = [ not a value"""
"requires-python" = '>=3.9' # two
dependencies = [ # three
  "numpy>=1.2; python_version < \"3.12\"",
  'flask', ]
optional-dependencies.test = ["pytest"]
[[tool.x]]
dependencies = 3
[tool.'y z']
when = 2020-01-01T00:00:00Z
)",
                                       "p.toml");
  ASSERT_TRUE(project) << project.error().message;
  EXPECT_EQ(project->python, ">=3.9");
  EXPECT_THAT(project->pip, ElementsAre("numpy>=1.2; python_version < \"3.12\"", "flask"));
}

TEST(Pyproject, NamesTheLineThatIsWrong) {
  EXPECT_THAT(parse_pyproject("[project]\nname = \n", "p.toml").error().message, StartsWith("p.toml:2:"));
  EXPECT_THAT(parse_pyproject("[project]\ndependencies = [\n'a',\n'./b']\n", "p.toml").error().message,
              StartsWith("p.toml:4:1: './b' is a local path"));
  EXPECT_THAT(parse_pyproject("[tool.x]\n", "p.toml").error().message, HasSubstr("no [project]"));
  EXPECT_FALSE(parse_pyproject("[project]\nrequires-python = 3\n", "p.toml"));
  EXPECT_FALSE(parse_pyproject("[project]\ndependencies = 'x'\n", "p.toml"));
}

TEST(AzureForm, IsReadBackAsItWasWritten) {
  Environment environment;
  environment.name = "mine";
  environment.version = 4;
  environment.definition = *checked_definition(with([](auto& d) {
    d.python = "3.6.2";
    d.pip = {"azureml-defaults", "tensorflow-gpu==2.2.0"};
    d.conda = {"numpy=1.18"};
    d.conda_channels = {"conda-forge"};
    d.variables = {{"A", "1"}};
    d.container.enabled = true;
    d.container.dockerfile = "FROM debian:12\nRUN true\n";
    d.container.shm_size = "4g";
  }));
  const FileTexts files = to_azure_files(environment);
  EXPECT_EQ(files.size(), 3U);
  EXPECT_EQ(files.at("BaseDockerfile"), "FROM debian:12\nRUN true\n");
  const auto again = from_azure_files(files);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->definition, environment.definition);
  EXPECT_EQ(again->name, "mine");
  EXPECT_EQ(again->version, 0);
}

TEST(AzureForm, TakesPackagesFromInsideTheJsonToo) {
  const auto read = from_azure_files({{"azureml_environment.json", R"({"name": "x", "version": "7", "r": null,
      "python": {"interpreterPath": "python", "userManagedDependencies": false, "condaDependencies":
        {"channels": ["anaconda"], "dependencies": ["python=3.6.2", {"pip": ["azureml-sdk"]}], "name": "n"}},
      "docker": {"enabled": true, "baseImage": "mcr.microsoft.com/azureml/base:1", "baseDockerfile": null}})"}});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->definition.python, "3.6.2");
  EXPECT_THAT(read->definition.pip, ElementsAre("azureml-sdk"));
  EXPECT_TRUE(read->definition.container.enabled);
}

TEST(AzureForm, NamesWhatIsWrong) {
  EXPECT_THAT(from_azure_files({{"azureml_environment.json", "{"}}).error().message,
              HasSubstr("azureml_environment.json"));
  EXPECT_THAT(from_azure_files({{"azureml_environment.json", R"({"docker": {"baseImage": "x"}})"},
                                {"BaseDockerfile", "FROM y\n"}})
                  .error()
                  .message,
              HasSubstr("both"));
}

TEST(Packages, OfALockAreReadWhicheverBuilderMadeIt) {
  const Packages packages = packages_of_lock(
      "# comment\nnumpy==1.26.4 \\\n    --hash=sha256:aa\nfoo-bar @ https://x.org/f.whl\n@EXPLICIT\n"
      "https://conda.anaconda.org/conda-forge/linux-64/scipy-1.11.4-py311h64a7726_0.conda#aabb\nimage "
      "debian@sha256:12\n");
  EXPECT_EQ(packages, (Packages{{"numpy", "1.26.4"},
                                {"foo-bar", "https://x.org/f.whl"},
                                {"scipy", "1.11.4"},
                                {"image", "debian@sha256:12"}}));
}

TEST(Packages, ThatDifferAreListedByName) {
  const json::array changes =
      package_changes({{"a", "1"}, {"b", "1"}, {"c", "1"}}, {{"a", "1"}, {"b", "2"}, {"d", "1"}});
  EXPECT_EQ(
      json::serialize(changes),
      R"([{"name":"b","change":"changed","from":"1","to":"2"},{"name":"c","change":"removed","from":"1","to":null},)"
      R"({"name":"d","change":"added","from":null,"to":"1"}])");
}

}  // namespace
}  // namespace slipway::environments

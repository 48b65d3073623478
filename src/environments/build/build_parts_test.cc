// The parts of builders that only look at text.
#include <gmock/gmock.h>

#include "environments/build/late_packages.h"
#include "environments/build/lock.h"
#include "environments/build/pip_settings.h"
#include "environments/build/uv_builder.h"
#include "environments/build/workshop.h"

namespace slipway::environments {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

TEST(Lock, ComesBackAsItWas) {
  const Lock lock{
      .builder = "uv", .facts = {{"python", "3.11.2"}, {"companions", "a b"}}, .body = "numpy==1\n"};
  const auto again = parse_lock(to_text(lock));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, lock);
  EXPECT_EQ(again->fact("python"), "3.11.2");
  EXPECT_EQ(again->fact("none"), "");
}

TEST(Lock, OtherTextIsNone) {
  EXPECT_FALSE(parse_lock(""));
  EXPECT_FALSE(parse_lock("numpy==1\n"));
  EXPECT_FALSE(parse_lock("# slipway-lock: 1\n\nnumpy==1\n")) << "it does not say what made it";
}

constexpr std::string_view kBody =
    "--index-url https://example.org/simple\n"
    "horovod==0.19.5 \\\n    --hash=sha256:aa\n"
    "tensorflow-gpu==2.2.0 \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc\n"
    "six==1.17.0 ; python_version < '4' \\\n    --hash=sha256:dd\n";

TEST(LatePackages, GoIntoTheSecondPhaseWithTheirHashes) {
  const Phases phases = split_lock(kBody);
  EXPECT_THAT(phases.late, ElementsAre("horovod"));
  EXPECT_EQ(phases.second,
            "--index-url https://example.org/simple\nhorovod==0.19.5 \\\n    --hash=sha256:aa\n");
  EXPECT_THAT(phases.first,
              HasSubstr("tensorflow-gpu==2.2.0 \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc\n"));
  EXPECT_THAT(phases.first, Not(HasSubstr("horovod")));
}

TEST(LatePackages, VersionsAreReadFromALock) {
  const auto versions = locked_versions(kBody);
  EXPECT_EQ(versions.size(), 3U);
  EXPECT_EQ(versions.at("tensorflow-gpu"), "2.2.0");
  EXPECT_EQ(versions.at("six"), "1.17.0");
}

TEST(LatePackages, HorovodIsToldWhichFrameworksThereAre) {
  const auto variables = build_variables(locked_versions(kBody));
  EXPECT_THAT(variables, Contains(Pair("HOROVOD_WITH_TENSORFLOW", "1")));
  EXPECT_THAT(variables, Contains(Pair("HOROVOD_WITHOUT_PYTORCH", "1")));
  EXPECT_THAT(variables, Contains(Pair("HOROVOD_WITH_MPI", "1")));
  EXPECT_THAT(build_variables({{"torch", "2.0"}}), IsEmpty());
}

TEST(PipSettings, AreReadFromTheSectionsThatMatter) {
  const auto settings = parse_pip_configuration(
      "# mine\n[global]\nindex-url = https://a/simple\nextra_index_url =\n    https://b\n    https://c\n"
      "[freeze]\ntimeout = 10\n[install]\ntrusted-host: b\n");
  EXPECT_EQ(settings.at("index-url"), "https://a/simple");
  EXPECT_EQ(settings.at("extra-index-url"), "https://b https://c");
  EXPECT_EQ(settings.at("trusted-host"), "b");
  EXPECT_FALSE(settings.contains("timeout"));
}

TEST(PipSettings, AreSaidInTheWordsOfUvUnlessUvHasItsOwn) {
  const std::map<std::string, std::string> variables{
      {"PIP_INDEX_URL", "https://a/simple"}, {"PIP_FIND_LINKS", "/no/such/folder"}, {"HOME", "/nonexistent"}};
  const auto settings = settings_for_uv(variables);
  EXPECT_THAT(settings, Contains(Pair("UV_DEFAULT_INDEX", "https://a/simple")));
  EXPECT_THAT(settings, Not(Contains(Key("UV_FIND_LINKS")))) << "a folder that is not there";
  auto own = variables;
  own["UV_DEFAULT_INDEX"] = "https://mine";
  EXPECT_THAT(settings_for_uv(own), Not(Contains(Key("UV_DEFAULT_INDEX"))));
}

TEST(Workshop, AReasonIsOneSentenceWithoutDrawing) {
  ProgramEnd end;
  end.code = 1;
  end.last_lines =
      "Downloading a\n  \xC3\x97 No solution found when resolving dependencies:\n"
      "  \xE2\x95\xB0\xE2\x94\x80\xE2\x96\xB6 Because a was not found,\n      we can conclude that it "
      "fails.\n";
  EXPECT_EQ(reason_of(end),
            "No solution found when resolving dependencies: Because a was not found, we can conclude that it "
            "fails.");
  end.last_lines = "error: No space left on device (os error 28)\n";
  EXPECT_EQ(build_error("it failed", end).message, "it failed: the disk is full");
  end.last_lines = "";
  EXPECT_EQ(reason_of(end), "it ended with code 1");
}

TEST(UvRequirements, CompanionsAndCondaPackagesAreToldApart) {
  EnvironmentDefinition definition;
  definition.pip = {"--pre", "slipway-azureml", "numpy>=1"};
  definition.conda = {"pytorch=1.6"};
  std::vector<std::string> said;
  const auto wanted =
      requirements_for_uv(definition, [&](std::string_view line) { said.emplace_back(line); });
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_THAT(wanted->options, ElementsAre("--pre"));
  EXPECT_THAT(wanted->packages, ElementsAre(HasSubstr("torch"), "numpy>=1"));
  EXPECT_THAT(wanted->companions, ElementsAre("slipway-azureml"));
  EXPECT_EQ(said.size(), 1U) << "a line for each conda package";
}

}  // namespace
}  // namespace slipway::environments

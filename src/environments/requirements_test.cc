#include "environments/requirements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "environments/requirement.h"

namespace slipway::environments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Result<std::vector<std::string>> read(std::string_view text) {
  return read_requirements(text, "requirements.txt", [](const std::string& path) -> Result<std::string> {
    if (path == "base.txt") return std::string("numpy\n-r more/deep.txt\n");
    if (path == "more/deep.txt") return std::string("scipy==1.9\n");
    if (path == "loop.txt") return std::string("-r loop.txt\n");
    if (path == "bad.txt") return std::string("fine\n\n./local\n");
    return fail(ErrorCode::kInvalidArgument, "no such file");
  });
}

TEST(Requirements, KeepsTheOrderAndDropsCommentsAndBlanks) {
  EXPECT_THAT(
      *read(
          "# first\nnumpy >= 1.2 , < 2   # a comment\r\n\n  Torch[extra]==1.6.0 ; python_version < '3.8'\n"),
      ElementsAre("numpy>=1.2,<2", "Torch[extra]==1.6.0; python_version < '3.8'"));
}

TEST(Requirements, JoinsContinuedLinesAndKeepsHashes) {
  EXPECT_THAT(*read("numpy==1.2 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"),
              ElementsAre("numpy==1.2 --hash=sha256:aa --hash=sha256:bb"));
}

TEST(Requirements, ReadsFilesOfTheSameFolder) {
  EXPECT_THAT(*read("-r base.txt\nflask"), ElementsAre("numpy", "scipy==1.9", "flask"));
  EXPECT_THAT(*read("--requirement=base.txt"), ElementsAre("numpy", "scipy==1.9"));
}

TEST(Requirements, RefusesAFileOutsideTheFolderNamingTheLine) {
  for (const char* path : {"../other.txt", "/etc/passwd", "more/../../x"}) {
    const auto lines = read(std::string("numpy\n-r ") + path);
    ASSERT_FALSE(lines);
    EXPECT_THAT(lines.error().message, StartsWith("requirements.txt:2: "));
    EXPECT_THAT(lines.error().message, HasSubstr("outside the folder"));
  }
}

TEST(Requirements, RefusesLocalPathsNamingTheLine) {
  for (const char* line :
       {"./pkg", "../pkg", "/opt/pkg", "~/pkg", "-e .", "-e ./pkg", "pkg/sub", "x-1.0-py3-none-any.whl",
        "pkg @ file:///opt/pkg", "file:///opt/pkg", "--find-links ./wheels"}) {
    const auto lines = read(std::string("\n\n") + line);
    ASSERT_FALSE(lines) << line;
    EXPECT_THAT(lines.error().message, StartsWith("requirements.txt:3: ")) << line;
    EXPECT_THAT(lines.error().next, testing::Not("")) << line;
  }
}

TEST(Requirements, NamesTheIncludedFileInItsErrors) {
  EXPECT_THAT(read("-r bad.txt").error().message, StartsWith("bad.txt:3: "));
  EXPECT_THAT(read("-r loop.txt").error().message, HasSubstr("too deeply"));
}

TEST(Requirements, TakesOptionsOfTheResolverAndUrls) {
  EXPECT_THAT(
      *read("-i https://pypi.org/simple\n--pre\n-f https://x.org/wheels\ntorch @ https://x.org/t.whl\n"
            "-e git+https://host/x.git@main#egg=thing\nhttps://x.org/y-1.0.tar.gz"),
      ElementsAre("--index-url https://pypi.org/simple", "--pre", "--find-links https://x.org/wheels",
                  "torch @ https://x.org/t.whl", "thing @ git+https://host/x.git@main",
                  "https://x.org/y-1.0.tar.gz"));
}

TEST(Requirements, RefusesSecretsAndWhatIsNoRequirement) {
  EXPECT_THAT(read("--index-url https://me:secret@host/simple").error().message,
              testing::Not(HasSubstr("secret")));
  EXPECT_FALSE(read("x @ https://token@host/x.whl"));
  EXPECT_FALSE(read("--install-option=x"));
  EXPECT_FALSE(read("-c constraints.txt"));
  EXPECT_FALSE(read("numpy=1.2"));
  EXPECT_THAT(read("numpy=1.2").error().next, HasSubstr("=="));
  EXPECT_FALSE(read("numpy >>1"));
  EXPECT_FALSE(read("???"));
  EXPECT_FALSE(read("a[b"));
  EXPECT_FALSE(read("https://host/${TOKEN}/x.whl"));
  EXPECT_FALSE(read(std::string("num\0py", 6)));
}

TEST(Requirement, NamesAreComparedAsAnIndexComparesThem) {
  EXPECT_EQ(package_name("Foo__Bar.baz"), "foo-bar-baz");
  EXPECT_EQ(to_text(*parse_requirement("Foo [a, b] (>=1.0)")), "Foo[a,b]>=1.0");
}

}  // namespace
}  // namespace slipway::environments

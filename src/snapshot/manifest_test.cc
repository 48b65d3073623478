#include "snapshot/manifest.h"

#include <gtest/gtest.h>

namespace slipway::snapshot {
namespace {

Entry entry(std::string path, std::string_view content = "x", int mode = 0644) {
  return {.path = std::move(path), .mode = mode, .size = content.size(), .digest = Digest::of(content)};
}

Manifest manifest(std::vector<Entry> entries) {
  auto made = Manifest::from_entries(std::move(entries));
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? *made : Manifest();
}

std::string refusal(std::vector<Entry> entries) {
  auto made = Manifest::from_entries(std::move(entries));
  return made ? "taken" : made.error().message;
}

TEST(Manifest, HasOneTextAndIdWhateverTheOrderOfItsFiles) {
  const Manifest one = manifest({entry("b/c"), entry("a"), entry("a-b")});
  const Manifest other = manifest({entry("a-b"), entry("b/c"), entry("a")});
  EXPECT_EQ(one.text(), other.text());
  EXPECT_EQ(one.id(), other.id());
  EXPECT_EQ(one.id(), Digest::of(one.text()));
  EXPECT_EQ(one.entries()[0].path, "a");
  EXPECT_EQ(one.total_bytes(), 3U);
}

TEST(Manifest, ReadsItsOwnText) {
  const Manifest made =
      manifest({entry("a \"quoted\"\n\tname"), entry("é/日本.py", "print()", 0755), entry("empty", "")});
  const auto read = Manifest::parse(made.text());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->entries(), made.entries());
  EXPECT_EQ(read->id(), made.id());
}

TEST(Manifest, TakesTheIdOfTheCanonicalTextNotOfWhatWasSent) {
  const Manifest made = manifest({entry("a"), entry("b")});
  std::string spaced = made.text();
  spaced.insert(1, "\n  ");
  EXPECT_EQ(Manifest::parse(spaced)->id(), made.id());
}

TEST(Manifest, OfNothingIsEmptyAndHasAnId) {
  EXPECT_EQ(Manifest().text(), R"({"version":1,"files":[]})");
  EXPECT_EQ(Manifest::parse(Manifest().text())->id(), Manifest().id());
}

TEST(Manifest, RefusesPathsThatLeaveTheFolderOrAreNotText) {
  for (const std::string& path :
       {std::string(), std::string("/etc/passwd"), std::string("../x"), std::string("a/../b"),
        std::string("a//b"), std::string("./a"), std::string("a/"), std::string("a\\b"),
        std::string("a\0b", 3), std::string(256, 'x'), std::string("\xff"), std::string("a\xc0\xaf"),
        std::string("\xed\xa0\x80")})
    EXPECT_NE(refusal({entry(path)}), "taken") << path;
}

TEST(Manifest, RefusesAPathThatStandsThereTwice) {
  EXPECT_NE(refusal({entry("a"), entry("b"), entry("a", "y")}).find("'a' stands there twice"),
            std::string::npos);
}

TEST(Manifest, RefusesAFileThatIsAlsoAFolder) {
  EXPECT_NE(refusal({entry("a"), entry("a-b"), entry("a/b")}).find("'a' is a file and a folder"),
            std::string::npos);
  EXPECT_NE(refusal({entry("x/y"), entry("x/y/z/w")}).find("'x/y' is a file and a folder"),
            std::string::npos);
  EXPECT_EQ(refusal({entry("a/b"), entry("a/c"), entry("ab")}), "taken");
}

TEST(Manifest, RefusesOtherModesAndSizesThatDisagree) {
  EXPECT_NE(refusal({entry("a", "x", 04755)}), "taken");
  EXPECT_NE(refusal({entry("a", "x", 0)}), "taken");
  Entry wrong = entry("b");
  wrong.size = 2;
  EXPECT_NE(refusal({entry("a"), wrong}), "taken");
  Entry huge = entry("c", "c");
  huge.size = ~0ULL;
  EXPECT_NE(refusal({huge}), "taken");
}

TEST(Manifest, RefusesDocumentsOfAnotherShape) {
  for (const char* text :
       {"", "[]", "{}", R"({"version":2,"files":[]})", R"({"version":1})", R"({"version":1,"files":[1]})",
        R"({"version":1,"files":{}})", R"({"version":1,"files":[],"more":1})",
        R"({"version":1,"files":[{"path":"a","mode":420,"size":1}]})",
        R"({"version":1,"files":[{"path":"a","mode":420,"size":-1,"digest":"00"}]})"})
    EXPECT_FALSE(Manifest::parse(text)) << text;
}

TEST(Manifest, SaysWhatIsWrongWithADocument) {
  const auto why = [](std::string_view text) { return Manifest::parse(text).error().message; };
  EXPECT_EQ(why("{"), "the manifest is not valid JSON: incomplete JSON");
  EXPECT_EQ(why(R"({"version":1,"files":[]} x)"), "the manifest is not valid JSON: extra data");
  EXPECT_EQ(why(R"({"version":2,"files":[]})"), "the manifest has version 2; this program knows 1");
  EXPECT_EQ(why(R"({"version":1,"version":1,"files":[]})"),
            "the manifest has a field 'version' that is unknown or stands there twice");
  EXPECT_EQ(why(R"({"version":1,"files":[{"path":"a"}]})"),
            "a file of the manifest lacks one of its fields path, mode, size and digest");
  EXPECT_EQ(Manifest::parse(std::string(100'000, '[')).error().code, ErrorCode::kInvalidArgument);
}

TEST(Manifest, FindsAFileByItsPath) {
  const Manifest made = manifest({entry("a"), entry("b/c"), entry("d")});
  ASSERT_NE(made.find("b/c"), nullptr);
  EXPECT_EQ(made.find("b/c")->path, "b/c");
  EXPECT_EQ(made.find("b"), nullptr);
  EXPECT_EQ(made.find("zzz"), nullptr);
}

TEST(Diff, SaysWhatWasAddedRemovedAndModified) {
  const Manifest from = manifest({entry("gone"), entry("kept"), entry("mode"), entry("changed", "1")});
  const Manifest to =
      manifest({entry("new"), entry("kept"), entry("mode", "x", 0755), entry("changed", "2")});
  const std::vector<FileChange> expected{{"changed", Change::kModified},
                                         {"gone", Change::kRemoved},
                                         {"mode", Change::kModified},
                                         {"new", Change::kAdded}};
  EXPECT_EQ(diff(from, to), expected);
  EXPECT_TRUE(diff(to, to).empty());
  EXPECT_EQ(diff(Manifest(), to).size(), 4U);
}

}  // namespace
}  // namespace slipway::snapshot

#include "data/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Source kImages{.kind = SourceKind::kFolder, .datastore = "images", .location = ""};
const Source kServer{.kind = SourceKind::kHttp, .datastore = "", .location = "http://host:8080"};

File file(std::string path, std::string_view content = "x") {
  return {.path = path,
          .size = content.size(),
          .digest = Digest::of(content),
          .tag = "",
          .source = 0,
          .key = std::move(path)};
}

std::string refusal(std::vector<Source> sources, std::vector<File> files) {
  const auto made = Manifest::make(std::move(sources), std::move(files));
  return made ? "it was taken" : made.error().message;
}

TEST(ManifestText, IsOneHeaderAndOneLineForEachFile) {
  const auto made = Manifest::make({kImages}, {file("b"), file("a/c", "yy")});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->text(),
            "{\"version\":1,\"sources\":[{\"kind\":\"folder\",\"datastore\":\"images\"}],\"files\":2,"
            "\"bytes\":3}\n"
            "{\"path\":\"a/c\",\"size\":2,\"digest\":\"" +
                Digest::of("yy").hex() +
                "\",\"source\":0}\n"
                "{\"path\":\"b\",\"size\":1,\"digest\":\"" +
                Digest::of("x").hex() + "\",\"source\":0}\n");
}

TEST(ManifestText, IsReadBackAsItWas) {
  File far{.path = "host/it \"is\"\n",
           .size = 7,
           .digest = std::nullopt,
           .tag = "\"5f-1\"",
           .source = 1,
           .key = "/it?x=1"};
  const auto made = Manifest::make({kImages, kServer}, {file("a"), far, file("ü/b")});
  ASSERT_TRUE(made);
  const auto read = Manifest::parse(made->text());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, *made);
  EXPECT_EQ(read->id(), Digest::of(made->text()));
  EXPECT_EQ(read->source_of(*read->find("host/it \"is\"\n")), kServer);
}

TEST(ManifestText, IsTheSameHoweverTheFilesWereFound) {
  File from_second = file("b");
  from_second.source = 1;
  File from_first = file("b");
  const auto one = Manifest::make({kServer, kImages}, {from_second});
  const auto other = Manifest::make({kImages, kImages}, {from_first});
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->text(), other->text());
}

TEST(ManifestText, IsTakenInItsCanonicalFormOnly) {
  const auto made = Manifest::make({kImages}, {file("a"), file("b")});
  ASSERT_TRUE(made);
  const std::string text = made->text();
  EXPECT_TRUE(Manifest::parse(text));
  EXPECT_FALSE(Manifest::parse(text + " "));
  EXPECT_FALSE(Manifest::parse(text.substr(0, text.size() - 1)));
  EXPECT_FALSE(Manifest::parse(""));
  std::string swapped = text;
  swapped.replace(swapped.find("\"a\""), 3, "\"c\"");
  EXPECT_FALSE(Manifest::parse(swapped));
  std::string count = text;
  count.replace(count.find("\"files\":2"), 9, "\"files\":3");
  EXPECT_FALSE(Manifest::parse(count));
}

TEST(Manifest, RefusesPathsThatCouldLeaveAFolder) {
  for (const char* path : {"../a", "/a", "a//b", "a/./b", "", "a\\b", "\xff"})
    EXPECT_THAT(refusal({kImages}, {file(path)}), HasSubstr("path")) << path;
  EXPECT_THAT(refusal({kImages}, {file("a"), file("a")}), HasSubstr("twice"));
  EXPECT_THAT(refusal({kImages}, {file("a"), file("a-b"), file("a/b")}), HasSubstr("file and a folder"));
}

TEST(Manifest, RefusesFilesNobodyCouldCheck) {
  File unknown = file("a");
  unknown.digest.reset();
  EXPECT_THAT(refusal({kImages}, {unknown}), HasSubstr("no digest"));
  unknown.key = "/a";
  EXPECT_THAT(refusal({kServer}, {unknown}), HasSubstr("neither a digest nor an entity tag"));
  unknown.key = "/a b";
  EXPECT_THAT(refusal({kServer}, {unknown}), HasSubstr("key"));
  File lost = file("a");
  lost.source = 3;
  EXPECT_THAT(refusal({kImages}, {lost}), HasSubstr("source"));
}

TEST(ManifestDiff, NamesWhatIsNewGoneAndOther) {
  const auto from = Manifest::make({kImages}, {file("a"), file("b"), file("c")});
  const auto to = Manifest::make({kImages}, {file("b"), file("c", "other"), file("d")});
  ASSERT_TRUE(from && to);
  EXPECT_THAT(diff(*from, *to), ElementsAre(FileChange{.path = "a", .change = Change::kRemoved},
                                            FileChange{.path = "c", .change = Change::kModified},
                                            FileChange{.path = "d", .change = Change::kAdded}));
  EXPECT_TRUE(diff(*from, *from).empty());
}

}  // namespace
}  // namespace slipway::data

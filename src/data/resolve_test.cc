#include "data/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "data/folder_datastore.h"
#include "data/test_operations.h"
#include "snapshot/test_folder.h"

namespace slipway::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ResolveTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& content = "x") { folder_.write(path, content); }

  Result<Manifest> found(std::vector<std::string> paths, std::vector<Operation> operations = {}) {
    const Definition definition{.paths = std::move(paths), .operations = std::move(operations)};
    return resolve(
        definition,
        [&](const std::string& name) -> Result<OpenDatastore> {
          if (name != "images" && name != "default")
            return fail(ErrorCode::kNotFound, "there is no datastore '" + name + "'");
          SLIPWAY_ASSIGN(auto store, FolderDatastore::open(folder_.path()));
          return OpenDatastore{.name = "images", .store = std::move(store)};
        },
        2);
  }
  std::vector<std::string> layout(std::vector<std::string> paths, std::vector<Operation> operations = {}) {
    const auto manifest = found(std::move(paths), std::move(operations));
    if (!manifest) return {"error: " + manifest.error().message};
    std::vector<std::string> result;
    for (const File& file : manifest->files()) result.push_back(file.path);
    return result;
  }

  snapshot::TestFolder folder_;
};

TEST_F(ResolveTest, StripsWhatOnePathHasInCommon) {
  write("train/cats/1.jpg");
  write("train/dogs/2.jpg");
  write("train/dogs/2.txt");
  EXPECT_THAT(layout({"images:train/cats/1.jpg"}), ElementsAre("1.jpg"));
  EXPECT_THAT(layout({"images:train"}), ElementsAre("cats/1.jpg", "dogs/2.jpg", "dogs/2.txt"));
  EXPECT_THAT(layout({"images:train/"}), ElementsAre("cats/1.jpg", "dogs/2.jpg", "dogs/2.txt"));
  EXPECT_THAT(layout({"images:train/**/*.jpg"}), ElementsAre("cats/1.jpg", "dogs/2.jpg"));
  EXPECT_THAT(layout({"images:train/dogs/*"}), ElementsAre("2.jpg", "2.txt"));
  EXPECT_THAT(layout({"images:tr*/cats/*.jpg"}), ElementsAre("train/cats/1.jpg"));
  EXPECT_THAT(layout({"train/cats"}), ElementsAre("1.jpg"));
}

TEST_F(ResolveTest, KeepsWholePathsOfSeveral) {
  write("a/1");
  write("b/1");
  EXPECT_THAT(layout({"images:a/1", "images:b"}), ElementsAre("images/a/1", "images/b/1"));
  EXPECT_THAT(layout({"images:a", "images:a/1"}), ElementsAre("images/a/1")) << "found twice, there once";
}

TEST_F(ResolveTest, NamesThePathThatYieldsNothing) {
  write("a/1.jpg");
  for (const char* path : {"images:none", "images:a/*.png", "images:b/**", "images:a/1.jpg/x"}) {
    const auto manifest = found({"images:a", path});
    ASSERT_FALSE(manifest) << path;
    EXPECT_EQ(manifest.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(manifest.error().message, HasSubstr(path));
  }
}

TEST_F(ResolveTest, RefusesPathsThatLeave) {
  for (const char* path : {"images:../x", "images:/etc", "images:a/../../x"}) {
    const auto manifest = found({path});
    ASSERT_FALSE(manifest) << path;
    EXPECT_EQ(manifest.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST_F(ResolveTest, RefusesLinksThatLeaveUnlessTheyAreLeftOut) {
  write("a/1.jpg");
  std::filesystem::create_symlink("/etc/passwd", folder_.path() / "a/2.txt");
  std::filesystem::create_symlink("loop", folder_.path() / "a/loop");
  EXPECT_THAT(layout({"images:a"}), ElementsAre(HasSubstr("'a/2.txt' cannot be used")));
  EXPECT_THAT(layout({"images:a/*.jpg"}), ElementsAre("1.jpg"));
  EXPECT_THAT(layout({"images:a"}, {matching("*.jpg")}), ElementsAre("1.jpg"));
  EXPECT_THAT(layout({"images:a/loop"}), ElementsAre(HasSubstr("loop of links")));
}

TEST_F(ResolveTest, KnowsTheContentOfEveryFile) {
  write("a", "one");
  write("b", "two");
  const auto before = found({"images:*"});
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_EQ(before->find("a")->digest, Digest::of("one"));
  EXPECT_EQ(before->find("a")->key, "a");
  EXPECT_EQ(before->id(), found({"images:*"})->id());
  write("b", "other");
  EXPECT_NE(before->id(), found({"images:*"})->id());
}

TEST_F(ResolveTest, SaysWhenTheOperationsLeaveNothing) {
  write("a");
  EXPECT_THAT(layout({"images:a"}, {skipping(1)}), ElementsAre(HasSubstr("leave none of 1 files")));
}

TEST_F(ResolveTest, NarrowsAManifest) {
  for (const char* path : {"a", "b", "c"}) write(path);
  const auto whole = found({"images:*"});
  const auto part = narrow(*whole, {taking(2)});
  ASSERT_TRUE(part);
  EXPECT_EQ(part->files().size(), 2U);
  EXPECT_FALSE(narrow(*whole, {taking(0)}));
}

}  // namespace
}  // namespace slipway::data

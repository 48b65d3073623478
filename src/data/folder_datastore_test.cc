#include "data/folder_datastore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "snapshot/test_folder.h"

namespace slipway::data {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FolderDatastoreTest : public testing::Test {
 protected:
  FolderDatastore& store() {
    if (!store_) store_ = std::move(*FolderDatastore::open(folder_.path() / "data"));
    return *store_;
  }
  void write(const std::string& path, const std::string& content = "x") {
    folder_.write("data/" + path, content);
  }
  void link(const std::string& to, const std::string& path) {
    fs::create_directories((folder_.path() / "data" / path).parent_path());
    fs::create_symlink(to, folder_.path() / "data" / path);
  }

  std::vector<std::string> paths(const ListRequest& request) {
    std::vector<std::string> found;
    const auto page = store().list(request);
    EXPECT_TRUE(page) << page.error().message;
    for (const Object& object : page->objects)
      found.push_back(object.path + (object.refused.empty() ? "" : "!"));
    return found;
  }
  std::string content(const std::string& path, const Range& range = {}) {
    std::string all;
    const auto read = store().read(path, range, "", [&](std::string_view bytes) -> Status {
      all += bytes;
      return {};
    });
    return read ? all : "error: " + read.error().message;
  }
  Result<Object> put(const std::string& path, std::string text, bool overwrite = false) {
    return store().write(
        path,
        [&text, given = std::string()]() mutable -> Result<std::string_view> {
          given = std::exchange(text, "");
          return given;
        },
        overwrite);
  }

  snapshot::TestFolder folder_;
  std::unique_ptr<FolderDatastore> store_;
};

TEST_F(FolderDatastoreTest, ListsInTheOrderOfWholePaths) {
  for (const char* path : {"a/b", "a-b", "a/a/z", "b", "a.txt"}) write(path);
  EXPECT_THAT(paths({}), ElementsAre("a-b", "a.txt", "a/a/z", "a/b", "b"));
  EXPECT_THAT(paths({.prefix = "a/"}), ElementsAre("a/a/z", "a/b"));
  EXPECT_THAT(paths({.prefix = "a"}), ElementsAre("a-b", "a.txt", "a/a/z", "a/b"));
  EXPECT_THAT(paths({.prefix = "none/"}), IsEmpty());
}

TEST_F(FolderDatastoreTest, GivesEveryFileOnceWhateverThePageIs) {
  for (const char* path : {"a/b", "a-b", "a/a/z", "b", "a.txt", "c/d/e", "c/d/f"}) write(path);
  const auto whole = paths({});
  for (size_t limit = 1; limit <= whole.size() + 1; ++limit) {
    std::vector<std::string> found;
    ListRequest request{.limit = limit};
    do {
      const auto page = store().list(request);
      ASSERT_TRUE(page);
      for (const Object& object : page->objects) found.push_back(object.path);
      request.after = page->next;
    } while (!request.after.empty());
    EXPECT_EQ(found, whole) << "pages of " << limit;
  }
}

TEST_F(FolderDatastoreTest, FollowsLinksThatStayInside) {
  write("real/a", "inside");
  link("real/a", "file");
  link("real", "folder");
  EXPECT_THAT(paths({}), ElementsAre("file", "folder/a", "real/a"));
  EXPECT_EQ(content("file"), "inside");
  EXPECT_EQ(content("folder/a"), "inside");
}

TEST_F(FolderDatastoreTest, RefusesLinksThatLeaveLoopOrLeadNowhere) {
  folder_.write("secret", "outside");
  write("in/side");
  link("../secret", "leaves");
  link((folder_.path() / "data/in").string(), "absolute");
  link("loop", "loop");
  link("..", "in/above");
  link("nothing", "dangling");
  EXPECT_THAT(paths({}), ElementsAre("absolute!", "dangling!", "in/above!", "in/side", "leaves!", "loop!"));
  EXPECT_THAT(content("leaves"), HasSubstr("a link that leaves the datastore"));
  EXPECT_THAT(content("absolute/side"), HasSubstr("a link that leaves the datastore"));
  EXPECT_THAT(content("loop"), HasSubstr("a loop of links"));
  EXPECT_THAT(content("dangling"), HasSubstr("leads nowhere"));
  EXPECT_EQ(content("in/above/in/side"), "x");  // odd, and still inside
}

TEST_F(FolderDatastoreTest, RefusesPathsThatAreNotClean) {
  write("a");
  for (const char* path : {"../a", "/etc/passwd", "x/../a", ".", "a\\b"}) {
    EXPECT_THAT(content(path), HasSubstr("no path below a datastore")) << path;
    EXPECT_FALSE(put(path, "x")) << path;
  }
  EXPECT_FALSE(store().list({.prefix = "../"}));
  EXPECT_FALSE(store().stat("none"));
}

TEST_F(FolderDatastoreTest, PassesOverWhatIsNoFile) {
  write("a");
  ASSERT_EQ(::mkfifo((folder_.path() / "data/pipe").c_str(), 0600), 0);
  EXPECT_THAT(paths({}), ElementsAre("a"));
  EXPECT_THAT(content("pipe"), HasSubstr("not a file"));
}

TEST_F(FolderDatastoreTest, ReadsRangesAndCutsThemAtTheEnd) {
  write("a", "0123456789");
  EXPECT_EQ(content("a", {.offset = 2, .length = 3}), "234");
  EXPECT_EQ(content("a", {.offset = 8, .length = 30}), "89");
  EXPECT_EQ(content("a", {.offset = 10}), "");
  EXPECT_EQ(content("a", {.offset = 99}), "");
}

TEST_F(FolderDatastoreTest, SaysThatAFileIsAnotherByNow) {
  write("a", "one");
  const auto before = store().stat("a");
  ASSERT_TRUE(before);
  write("a", "other");
  const auto read = store().read("a", {}, before->tag, [](std::string_view) -> Status { return {}; });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kConflict);
}

TEST_F(FolderDatastoreTest, WritesWholeFilesAndReplacesOnlyWhenTold) {
  write("keep");
  const auto written = put("new/folder/a", "first");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->digest, Digest::of("first"));
  EXPECT_EQ(put("new/folder/a", "second").error().code, ErrorCode::kConflict);
  EXPECT_EQ(content("new/folder/a"), "first");
  EXPECT_TRUE(put("new/folder/a", "second", true));
  EXPECT_EQ(content("new/folder/a"), "second");
  EXPECT_EQ(put("new", "x", true).error().code, ErrorCode::kConflict);
  const auto broken = store().write(
      "new/b", []() -> Result<std::string_view> { return fail(ErrorCode::kUnavailable, "cut"); }, false);
  EXPECT_FALSE(broken);
  EXPECT_THAT(paths({}), ElementsAre("keep", "new/folder/a"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path() / "data/new"), {}), 1);
}

TEST_F(FolderDatastoreTest, HashesWhatIsThere) {
  write("a", std::string(3 << 20, 'y'));
  std::vector<char> buffer(1 << 20);
  const auto hashed = store().hash("a", buffer);
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->digest, Digest::of(std::string(3 << 20, 'y')));
  EXPECT_EQ(hashed->size, 3U << 20);
}

TEST(FolderDatastore, NeedsAFolder) {
  EXPECT_EQ(FolderDatastore::open("/nowhere/at/all").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(FolderDatastore::open("/etc/passwd").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace slipway::data

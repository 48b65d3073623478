#include "snapshot/walk.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snapshot/test_folder.h"

namespace slipway::snapshot {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<Walk> walk(const fs::path& folder, const WalkLimits& limits = {}) {
  SLIPWAY_ASSIGN(const UniqueFd fd, open_source(folder));
  return walk_folder(fd.get(), limits);
}

std::vector<std::string> paths(const TestFolder& folder) {
  const auto walked = walk(folder.path());
  EXPECT_TRUE(walked) << walked.error().message;
  std::vector<std::string> paths;
  for (const FoundFile& file : walked->files) paths.push_back(file.path);
  return paths;
}

TEST(Walk, FindsFilesInTheOrderOfTheirPathsWithModeAndSize) {
  const TestFolder folder;
  folder.write("b/x", "12345");
  folder.write("a", "");
  fs::permissions(folder.write("b.sh", "#!"), fs::perms::owner_all);
  const auto walked = walk(folder.path());
  ASSERT_TRUE(walked);
  ASSERT_EQ(walked->files.size(), 3U);
  EXPECT_EQ(walked->files[0].path, "a");
  EXPECT_EQ(walked->files[1].path, "b.sh");
  EXPECT_EQ(walked->files[1].mode, 0755);
  EXPECT_EQ(walked->files[2].path, "b/x");
  EXPECT_EQ(walked->files[2].mode, 0644);
  EXPECT_EQ(walked->files[2].stat.size, 5U);
  EXPECT_EQ(walked->bytes, 7U);
  EXPECT_THAT(walked->skipped, IsEmpty());
}

TEST(Walk, SkipsAndListsLinksSocketsAndPipesAndFollowsNoLoop) {
  const TestFolder folder;
  folder.write("kept", "x");
  fs::create_directory(folder.path() / "sub");
  fs::create_symlink("..", folder.path() / "sub/loop");
  fs::create_symlink("kept", folder.path() / "link");
  fs::create_symlink("/nowhere", folder.path() / "dangling");
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  (folder.path() / "sock").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);

  const auto walked = walk(folder.path());
  ASSERT_TRUE(walked);
  ASSERT_EQ(walked->files.size(), 1U);
  std::vector<std::string> skipped;
  for (const SkippedFile& file : walked->skipped) skipped.push_back(file.path + ": " + file.why);
  EXPECT_THAT(skipped, ElementsAre("dangling: a symbolic link", "link: a symbolic link", "pipe: a named pipe",
                                   "sock: a socket", "sub/loop: a symbolic link"));
}

TEST(Walk, SkipsNamesThatAManifestCannotHold) {
  const TestFolder folder;
  folder.write("bad\xff", "x");
  folder.write("back\\slash", "x");
  folder.write("\xff_folder/inside", "x");
  folder.write("été", "x");
  EXPECT_THAT(paths(folder), ElementsAre("été"));
  const auto walked = walk(folder.path());
  ASSERT_EQ(walked->skipped.size(), 3U);
  EXPECT_EQ(walked->skipped[1].path, "back\\slash");
  EXPECT_EQ(walked->skipped[2].path, "bad?");
}

TEST(Walk, LeavesOutGitAndSlipwayFoldersAtEveryDepth) {
  const TestFolder folder;
  folder.write(".git/config", "x");
  folder.write("sub/.git", "gitdir: elsewhere");
  folder.write(".slipway/config.json", "{}");
  folder.write("sub/.github/x", "x");
  EXPECT_THAT(paths(folder), ElementsAre("sub/.github/x"));
}

TEST(Walk, HonoursTheFirstKindOfIgnoreFileInTheFolderAlone) {
  const TestFolder folder;
  for (const char* name : {"a", "b", "c", "sub/a", "sub/b", "sub/c"}) folder.write(name, "x");
  folder.write(".gitignore", "a\n");
  folder.write("sub/.gitignore", "b\n");
  EXPECT_THAT(paths(folder), ElementsAre(".gitignore", "b", "c", "sub/.gitignore", "sub/c"));
  folder.write(".amlignore", "b\n");
  EXPECT_THAT(paths(folder),
              ElementsAre(".amlignore", ".gitignore", "a", "c", "sub/.gitignore", "sub/a", "sub/c"));
  folder.write(".slipwayignore", ".*\n!.slipwayignore\nc");
  folder.write("sub/.slipwayignore", "a\r\n!c\r\n");
  EXPECT_THAT(paths(folder), ElementsAre(".slipwayignore", "a", "b", "sub/.slipwayignore", "sub/b", "sub/c"));
}

TEST(Walk, SaysWhichFilesAreLargestWhenThereIsTooMuch) {
  const TestFolder folder;
  folder.write("small", "x");
  folder.write("data/big.bin", std::string(5000, 'x'));
  folder.write("data/bigger.bin", std::string(6000, 'x'));
  const auto walked = walk(folder.path(), {.files = 100, .bytes = 10'000});
  ASSERT_FALSE(walked);
  EXPECT_EQ(walked.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(walked.error().message, HasSubstr("more than 10000 bytes of files"));
  EXPECT_THAT(walked.error().message, HasSubstr("data/bigger.bin (6000 bytes), data/big.bin (5000 bytes)"));
}

TEST(Walk, SaysWhichFoldersAreFullestWhenThereAreTooManyFiles) {
  const TestFolder folder;
  for (int i = 0; i < 20; ++i) folder.write(fmt::format("images/{}", i), "x");
  const auto walked = walk(folder.path(), {.files = 10, .bytes = 10'000});
  ASSERT_FALSE(walked);
  EXPECT_THAT(walked.error().message,
              HasSubstr("more than 10 files; the fullest folders so far: images/ (11 files)"));
}

TEST(Walk, NamesTheFolderThatIsNotThere) {
  const auto walked = walk("/nonexistent/folder");
  ASSERT_FALSE(walked);
  EXPECT_THAT(walked.error().message, HasSubstr("there is no folder /nonexistent/folder"));
}

// Root reads everything, so the walk is done by another user, in a child.
TEST(Walk, NamesAFolderThatCannotBeRead) {
  const TestFolder folder;
  fs::permissions(folder.path(), fs::perms(0755));
  folder.write("private/x", "x");
  fs::permissions(folder.path() / "private", fs::perms(0000));
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(9);
    const auto walked = walk(folder.path());
    const bool named =
        !walked && walked.error().code == ErrorCode::kInvalidArgument &&
        walked.error().message.starts_with("cannot read the folder private: Permission denied");
    ::_exit(named ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  fs::permissions(folder.path() / "private", fs::perms(0700));
}

}  // namespace
}  // namespace slipway::snapshot

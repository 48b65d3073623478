#include "snapshot/git.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "snapshot/test_folder.h"

namespace slipway::snapshot {
namespace {

class Git : public testing::Test {
 protected:
  void git(const std::string& arguments) {
    const std::string command = fmt::format(
        "git -C {} -c user.name=T -c user.email=t@example.org -c init.defaultBranch=main {} >/dev/null 2>&1",
        folder_.path().string(), arguments);
    ASSERT_EQ(::system(command.c_str()), 0) << command;
  }
  void commit_something() {
    git("init");
    folder_.write("train.py", "1");
    folder_.write("sub/x", "1");
    git("add .");
    git("commit -m first");
  }
  TestFolder folder_;
};

TEST_F(Git, KnowsCommitBranchAndRemote) {
  commit_something();
  git("remote add origin https://me:secret@example.org/team/code.git");
  const GitState state = read_git_state(folder_.path());
  EXPECT_EQ(state.commit.size(), 40U);
  EXPECT_EQ(state.branch, "main");
  EXPECT_EQ(state.remote, "https://example.org/team/code.git");
  EXPECT_FALSE(state.dirty);
}

TEST_F(Git, IsDirtyWithAChangedOrAnUntrackedFileButNotAnIgnoredOne) {
  commit_something();
  folder_.write("train.py", "2");
  EXPECT_TRUE(read_git_state(folder_.path()).dirty);
  git("checkout train.py");
  EXPECT_FALSE(read_git_state(folder_.path()).dirty);
  folder_.write("new", "1");
  EXPECT_TRUE(read_git_state(folder_.path()).dirty);
  folder_.write(".gitignore", "new\n");
  git("add .gitignore");
  git("commit -m second");
  EXPECT_FALSE(read_git_state(folder_.path()).dirty);
}

TEST_F(Git, LooksOnlyAtTheSourceFolderOfALargerRepository) {
  commit_something();
  folder_.write("train.py", "2");
  EXPECT_FALSE(read_git_state(folder_.path() / "sub").dirty);
  EXPECT_EQ(read_git_state(folder_.path() / "sub").commit.size(), 40U);
}

TEST_F(Git, HasNoBranchOnADetachedHead) {
  commit_something();
  git("checkout --detach");
  const GitState state = read_git_state(folder_.path());
  EXPECT_EQ(state.commit.size(), 40U);
  EXPECT_EQ(state.branch, "");
}

TEST_F(Git, IsEmptyWithoutARepositoryACommitOrTheProgram) {
  EXPECT_EQ(read_git_state(folder_.path()), GitState());
  git("init");
  EXPECT_EQ(read_git_state(folder_.path()), GitState());
  EXPECT_EQ(read_git_state("/nonexistent"), GitState());
  folder_.write("x", "1");
  git("add .");
  git("commit -m first");
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", "/nonexistent", 1);
  EXPECT_EQ(read_git_state(folder_.path()), GitState());
  ::setenv("PATH", path.c_str(), 1);
}

TEST_F(Git, KnowsTheCommitEvenWhenThereIsNoTimeForTheStatus) {
  commit_something();
  const GitState state = read_git_state(folder_.path(), std::chrono::milliseconds(0));
  EXPECT_EQ(state.commit.size(), 40U);
  EXPECT_TRUE(state.dirty);
}

TEST_F(Git, PrefersTheRemoteTheBranchFollows) {
  commit_something();
  git("remote add origin https://example.org/origin.git");
  git("remote add fork git@example.org:me/fork.git");
  EXPECT_EQ(read_git_state(folder_.path()).remote, "https://example.org/origin.git");
  git("config branch.main.remote fork");
  git("config branch.main.merge refs/heads/main");
  EXPECT_EQ(read_git_state(folder_.path()).remote, "git@example.org:me/fork.git");
}

TEST_F(Git, DoesNotRunWhatTheRepositoryNamesAsMonitor) {
  commit_something();
  const auto mark = folder_.path() / ".git/ran";
  git(fmt::format("config core.fsmonitor 'touch {};'", mark.string()));
  read_git_state(folder_.path());
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST(GitUrl, LosesItsCredentials) {
  EXPECT_EQ(without_credentials("https://u:p@host/x.git"), "https://host/x.git");
  EXPECT_EQ(without_credentials("https://token@host:8443/x"), "https://host:8443/x");
  EXPECT_EQ(without_credentials("https://u:p@ss@host/x?private_token=abc#frag"), "https://host/x");
  EXPECT_EQ(without_credentials("https://host/a@b"), "https://host/a@b");
  EXPECT_EQ(without_credentials("ssh://git:pw@host/x"), "ssh://git@host/x");
  EXPECT_EQ(without_credentials("git@host:x.git"), "git@host:x.git");
  EXPECT_EQ(without_credentials("/local/path"), "/local/path");
}

}  // namespace
}  // namespace slipway::snapshot

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/file.h"

namespace slipway {
namespace {

class FileLockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "slipway-lock-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ / "lock";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

TEST_F(FileLockTest, IsHeldByOneTakerUntilItIsDestroyed) {
  {
    auto first = FileLock::try_take(path_);
    ASSERT_TRUE(first && first->has_value());
    EXPECT_TRUE(FileLock::is_held(path_));
    auto second = FileLock::try_take(path_);
    ASSERT_TRUE(second.has_value());
    EXPECT_FALSE(second->has_value());
  }
  EXPECT_FALSE(FileLock::is_held(path_));
}

TEST_F(FileLockTest, AQuestionAboutAMissingFileCreatesNothing) {
  EXPECT_FALSE(FileLock::is_held(path_));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(FileLockTest, IsLetGoWhenItsHolderIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FileLock::try_take(path_);
    (void)!::write(ready[1], "x", 1);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(FileLock::is_held(path_));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(FileLock::is_held(path_));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(FileLockTest, NamesItsHolderForAsLongAsItIsHeld) {
  {
    const auto lock = FileLock::try_take(path_);
    ASSERT_TRUE(lock && lock->has_value());
    const auto holder = FileLock::holder(path_);
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->pid, ::getpid());
    EXPECT_EQ(holder->start_ticks, process_start_ticks(::getpid()));
  }
  EXPECT_FALSE(FileLock::holder(path_));
}

TEST_F(FileLockTest, AReusedPidIsNotTakenForTheHolder) {
  const auto lock = FileLock::try_take(path_);
  ASSERT_TRUE(lock && lock->has_value());
  const std::string stale = std::to_string(::getpid()) + " 12345\n";
  ASSERT_EQ(::pwrite((*lock)->fd(), stale.data(), stale.size(), 0), static_cast<ssize_t>(stale.size()));
  EXPECT_FALSE(FileLock::holder(path_));
}

}  // namespace
}  // namespace slipway

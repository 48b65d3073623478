#include "snapshot/take.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/fd.h"
#include "snapshot/hash_file.h"
#include "snapshot/test_folder.h"

namespace slipway::snapshot {
namespace {

namespace fs = std::filesystem;

class Take : public testing::Test {
 protected:
  Result<Snapshot> take() { return take_snapshot(source_.path(), {.cache_file = cache_.path() / "cache"}); }

  // ctime cannot be set; files must really be a tick older than the snapshot.
  static void let_a_tick_pass() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

  TestFolder source_;
  TestFolder cache_;
};

TEST_F(Take, GivesTheManifestOfTheFolder) {
  source_.write("train.py", "print(1)");
  source_.write("sub/data.csv", "1,2");
  fs::create_symlink("train.py", source_.path() / "link");
  const auto taken = take();
  ASSERT_TRUE(taken) << taken.error().message;
  ASSERT_EQ(taken->manifest.entries().size(), 2U);
  EXPECT_EQ(taken->manifest.find("train.py")->digest, Digest::of("print(1)"));
  EXPECT_EQ(taken->manifest.find("sub/data.csv")->size, 3U);
  ASSERT_EQ(taken->skipped.size(), 1U);
  EXPECT_EQ(taken->hashed_files, 2U);
}

TEST_F(Take, HashesOnlyWhatHasChangedSinceTheLastTime) {
  source_.write("a", "1");
  source_.write("b", "2");
  let_a_tick_pass();
  EXPECT_EQ(take()->hashed_files, 2U);
  EXPECT_EQ(take()->hashed_files, 0U);
  source_.write("b", "3");
  source_.write("c", "4");
  let_a_tick_pass();
  const auto changed = take();
  EXPECT_EQ(changed->hashed_files, 2U);
  EXPECT_EQ(changed->manifest.find("b")->digest, Digest::of("3"));
  fs::remove(source_.path() / "a");
  EXPECT_EQ(take()->hashed_files, 0U);
  EXPECT_EQ(take()->manifest.entries().size(), 2U);
}

TEST_F(Take, DoesNotTrustAFileThatWasFreshWhenItWasRead) {
  source_.write("a", "1");
  // Within the same tick a second change of the same size would show nowhere; so the file is read every time
  // until it is old enough.
  ASSERT_TRUE(take());
  source_.write("a", "2");
  EXPECT_EQ(take()->manifest.find("a")->digest, Digest::of("2"));
}

TEST_F(Take, SeesAChangeThatKeepsSizeAndModificationTime) {
  const fs::path file = source_.write("a", "1");
  let_a_tick_pass();
  ASSERT_TRUE(take());
  const auto before = fs::last_write_time(file);
  source_.write("a", "2");
  fs::last_write_time(file, before);
  EXPECT_EQ(take()->manifest.find("a")->digest, Digest::of("2"));
}

TEST_F(Take, SeesAChangeOfModeAlone) {
  const fs::path file = source_.write("run.sh", "#!/bin/sh");
  let_a_tick_pass();
  EXPECT_EQ(take()->manifest.find("run.sh")->mode, 0644);
  fs::permissions(file, fs::perms(0755));
  EXPECT_EQ(take()->manifest.find("run.sh")->mode, 0755);
}

TEST_F(Take, HashesAgainWhenTheCacheIsDamaged) {
  source_.write("a", "1");
  let_a_tick_pass();
  ASSERT_TRUE(take());
  std::ofstream(cache_.path() / "cache", std::ios::trunc) << "rubbish";
  const auto taken = take();
  EXPECT_EQ(taken->hashed_files, 1U);
  EXPECT_EQ(take()->hashed_files, 0U);
}

TEST_F(Take, HashesManyFilesOnSeveralThreads) {
  for (int i = 0; i < 300; ++i)
    source_.write(fmt::format("d{}/f{}", i % 7, i), std::string(static_cast<size_t>(i) * 97, 'x'));
  std::atomic<uint64_t> last = 0;
  const auto taken =
      take_snapshot(source_.path(), {.threads = 4, .on_progress = [&](const HashProgress& progress) {
                                       last = std::max(last.load(), progress.bytes_done);
                                       EXPECT_LE(progress.bytes_done, progress.bytes_total);
                                     }});
  ASSERT_TRUE(taken);
  EXPECT_EQ(last, taken->manifest.total_bytes());
  for (const Entry& entry : taken->manifest.entries())
    EXPECT_EQ(entry.digest, Digest::of(std::string(entry.size, 'x')));
}

TEST_F(Take, NamesAFileThatCannotBeRead) {
  fs::permissions(source_.path(), fs::perms(0755));
  fs::permissions(source_.write("secret.key", "x"), fs::perms(0000));
  const pid_t child = ::fork();
  if (child == 0) {
    // Root reads everything.
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(9);
    const auto taken = take_snapshot(source_.path(), {.threads = 1});
    ::_exit(!taken && taken.error().message == "cannot open secret.key: Permission denied" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

class HashFile : public testing::Test {
 protected:
  Result<HashedFile> hash(const OnBytes& on_bytes) {
    const auto source = open_source(source_.path());
    std::vector<char> buffer(1024);
    return hash_file(source->get(), "f", buffer, on_bytes);
  }
  TestFolder source_;
};

TEST_F(HashFile, ReadsAgainAFileThatChangedMeanwhile) {
  source_.write("f", std::string(4000, 'a'));
  int pieces = 0;
  const auto hashed = hash([&](uint64_t) {
    if (++pieces == 2) source_.write("f", std::string(5000, 'b'));
  });
  ASSERT_TRUE(hashed) << hashed.error().message;
  EXPECT_EQ(hashed->digest, Digest::of(std::string(5000, 'b')));
}

TEST_F(HashFile, FailsAndNamesAFileThatChangesEveryTime) {
  source_.write("f", "a");
  size_t size = 1;
  const auto hashed = hash([&](uint64_t) { source_.write("f", std::string(++size, 'a')); });
  ASSERT_FALSE(hashed);
  EXPECT_EQ(hashed.error().code, ErrorCode::kConflict);
  EXPECT_EQ(hashed.error().message, "the file f changed while it was read, 3 times");
}

TEST_F(HashFile, DoesNotFollowAFileThatGrowsForEver) {
  source_.write("f", "a");
  uint64_t read = 0;
  const auto hashed = hash([&](uint64_t count) {
    read += count;
    std::ofstream(source_.path() / "f", std::ios::app) << std::string(1024, 'x');
  });
  ASSERT_FALSE(hashed);
  EXPECT_LT(read, 20'000U);
}

TEST_F(HashFile, SaysThatAFileIsGoneOrHasBecomeAnythingElse) {
  EXPECT_EQ(hash({}).error().message, "the file f disappeared while the snapshot was taken");
  ASSERT_EQ(::mkfifo((source_.path() / "f").c_str(), 0600), 0);
  EXPECT_EQ(hash({}).error().message, "the file f was replaced while the snapshot was taken");
  fs::remove(source_.path() / "f");
  fs::create_symlink("/etc/passwd", source_.path() / "f");
  EXPECT_FALSE(hash({}));
}

}  // namespace
}  // namespace slipway::snapshot

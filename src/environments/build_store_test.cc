#include "environments/build_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

namespace slipway::environments {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class BuildStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/slipway-builds-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A build of about that many KiB, used `age` seconds ago.
  std::string make(const std::string& key, int kilobytes, int age) {
    const std::string lock = "lock of " + key;
    BuildRecord record;
    record.id = BuildStore::build_id(key, lock);
    record.key = key;
    record.builder = "uv";
    record.lock_digest = "d";
    EXPECT_TRUE(store().clear(record));
    std::ofstream(store().folder_of(record.id) / "content") << std::string(size_t(kilobytes) << 10, 'x');
    EXPECT_TRUE(store().publish(record, lock));
    timespec times[2];
    ::clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= age;
    times[1] = times[0];
    ::utimensat(AT_FDCWD, (store().folder_of(record.id) / "used").c_str(), times, 0);
    return record.id;
  }
  fs::path attempt(const std::string& name) {
    fs::create_directories(folder_ / "attempts" / name);
    return folder_ / "attempts" / name;
  }
  BuildStore store() const { return BuildStore(folder_ / "environments"); }
  bool there(const std::string& id) const { return fs::exists(store().folder_of(id)); }

  fs::path folder_;
};

TEST_F(BuildStoreTest, ABuildIsThereOnceItsRecordIs) {
  BuildRecord record;
  record.id = BuildStore::build_id("key", "lock");
  record.key = "key";
  record.builder = "uv";
  ASSERT_TRUE(store().clear(record));
  const auto half = store().acquire(record.id, attempt("a.1.0"));
  ASSERT_TRUE(half);
  EXPECT_FALSE(*half);
  ASSERT_TRUE(store().publish(record, "lock"));
  const auto whole = store().acquire(record.id, attempt("a.1.0"));
  ASSERT_TRUE(whole && *whole);
  EXPECT_EQ((*whole)->key, "key");
}

TEST_F(BuildStoreTest, AnotherLockIsAnotherBuild) {
  EXPECT_NE(BuildStore::build_id("key", "one"), BuildStore::build_id("key", "two"));
}

TEST_F(BuildStoreTest, OneBuildOfAKeyAtATime) {
  {
    const auto first = store().try_lock("key");
    ASSERT_TRUE(first && *first);
    EXPECT_FALSE(*store().try_lock("key"));
    EXPECT_TRUE(*store().try_lock("other"));
  }
  EXPECT_TRUE(*store().try_lock("key"));
}

TEST_F(BuildStoreTest, TheLongestUnusedGoesFirstAndOneInUseNever) {
  const std::string old_but_used = make("aaaa", 400, 300);
  const std::string oldest = make("bbbb", 400, 200);
  const std::string newest = make("cccc", 400, 100);
  const fs::path user = attempt("run.1.0");
  ASSERT_TRUE(store().acquire(old_but_used, user));
  const auto pruned = store().prune(900 << 10);
  ASSERT_TRUE(pruned) << pruned.error().message;
  EXPECT_THAT(pruned->builds, ElementsAre(oldest));
  EXPECT_GE(pruned->freed_bytes, 400U << 10);
  EXPECT_TRUE(there(old_but_used) && there(newest) && !there(oldest));

  EXPECT_THAT(store().prune(0)->builds, ElementsAre(newest)) << "everything that nobody has";
  EXPECT_TRUE(there(old_but_used));
  fs::remove_all(user);
  EXPECT_THAT(store().prune(0)->builds, ElementsAre(old_but_used)) << "its attempt is over";
}

TEST_F(BuildStoreTest, WithinItsBoundNothingIsRemoved) {
  const std::string id = make("aaaa", 10, 100);
  EXPECT_THAT(store().prune(100 << 20)->builds, IsEmpty());
  EXPECT_TRUE(there(id));
}

TEST_F(BuildStoreTest, RubbleOfAKilledBuildIsSweptButNotThatOfOneUnderWay) {
  BuildRecord record;
  record.key = "killed";
  record.id = BuildStore::build_id("killed", "lock");
  ASSERT_TRUE(store().clear(record));
  BuildRecord running;
  running.key = "running";
  running.id = BuildStore::build_id("running", "lock");
  ASSERT_TRUE(store().clear(running));
  const auto turn = store().try_lock("running");
  ASSERT_TRUE(store().prune(100 << 20));
  EXPECT_FALSE(there(record.id));
  EXPECT_TRUE(there(running.id));
}

TEST_F(BuildStoreTest, AFailureHoldsForRunsThatWereSubmittedBeforeIt) {
  const Timestamp before{1'000'000};
  EXPECT_FALSE(store().failure_since("key", before));
  store().remember_failure(
      "key", {.code = ErrorCode::kInvalidArgument, .message = "no", .next = "go", .detail = ""});
  const auto failed = store().failure_since("key", before);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->message, "no");
  EXPECT_EQ(failed->next, "go");
  const Timestamp later{SystemClock().now().micros + 60'000'000};
  EXPECT_FALSE(store().failure_since("key", later)) << "a new submission tries again";
  store().forget_failure("key");
  EXPECT_FALSE(store().failure_since("key", before));
}

}  // namespace
}  // namespace slipway::environments

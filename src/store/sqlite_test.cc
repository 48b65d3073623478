// What the SQLite back end must survive: reference/faults 1, 5, 7, 8, 11, 12.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "store/faulty_vfs.h"
#include "store/testing.h"

namespace slipway::store {
namespace {

using testing::HasSubstr;

const std::vector<Migration> kSteps = {
    {.version = 1, .name = "first", .sql = "CREATE TABLE items (id BIGSERIAL PRIMARY KEY, name TEXT);"}};

class SqliteTest : public testing::Test {
 protected:
  SqliteTest() { options_.path = folder_.file("store.db"); }

  void open() {
    auto opened = open_sqlite(options_, kSteps);
    ASSERT_TRUE(opened) << opened.error().message << opened.error().detail;
    database_ = std::move(*opened);
  }
  Status add(std::string_view name) {
    return database_->write(
        [&](Writer& writer) { return writer.run("INSERT INTO items (name) VALUES (?)", {name}); });
  }
  int64_t count() {
    int64_t rows = -1;
    const Status read = database_->read([&](Reader& reader) {
      return reader.query("SELECT COUNT(*) FROM items", {}, [&](const Row& row) { rows = row.integer(0); });
    });
    EXPECT_TRUE(read);
    return rows;
  }
  template <class Condition>
  void wait_until(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(condition());
  }
  uint64_t log_size() const {
    std::error_code error;
    const auto size = std::filesystem::file_size(options_.path + "-wal", error);
    return error ? 0 : size;
  }

  TestFolder folder_;
  SqliteOptions options_;
  FaultyVfs vfs_;  // outlives the database
  std::unique_ptr<Database> database_;
};

TEST_F(SqliteTest, TheFileIsForItsOwnerAlone) {
  open();
  ASSERT_TRUE(add("a"));
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat info{};
    ASSERT_EQ(::stat((options_.path + suffix).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U) << suffix;
  }
}

TEST_F(SqliteTest, EveryAnswerComesAfterASync) {
  open();
  for (int i = 0; i < 5; ++i) {
    const int before = vfs_.faults.syncs;
    ASSERT_TRUE(add("a"));
    EXPECT_GT(vfs_.faults.syncs, before);
  }
}

TEST_F(SqliteTest, WritesThatWaitTogetherShareASync) {
  open();
  std::atomic<bool> inside = false;
  std::atomic<bool> go = false;
  std::thread holder([&] {
    EXPECT_TRUE(database_->write([&](Writer&) -> Status {
      inside = true;
      while (!go) std::this_thread::yield();
      return {};
    }));
  });
  while (!inside) std::this_thread::yield();
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) threads.emplace_back([this] { EXPECT_TRUE(add("a")); });
  // They are all in the queue soon after; a straggler makes one more sync, not sixteen.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const int before = vfs_.faults.syncs;
  go = true;
  holder.join();
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(vfs_.faults.syncs - before, 6);
  EXPECT_EQ(count(), 16);
}

TEST_F(SqliteTest, AFullDiskRefusesWritesReadsOnAndRecoversByItself) {
  open();
  ASSERT_TRUE(add("before"));
  vfs_.faults.full = true;
  const Status first = add("lost");
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::kStorageFull);
  EXPECT_THAT(first.error().next, HasSubstr("free some space"));
  std::string why;
  EXPECT_FALSE(database_->writable(&why));
  EXPECT_THAT(why, HasSubstr("full"));
  EXPECT_EQ(count(), 1);
  vfs_.faults.full = false;
  wait_until([&] { return database_->writable(); });
  EXPECT_TRUE(add("after"));
  EXPECT_EQ(count(), 2);
  EXPECT_FALSE(std::filesystem::exists(options_.path + "-probe"));
}

TEST_F(SqliteTest, AFailedSyncStopsAllWritingForGood) {
  open();
  ASSERT_TRUE(add("before"));
  vfs_.faults.sync_fails = true;
  const Status first = add("lost");
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::kUnavailable);
  // Good syncs from here on mean nothing any more, and none is made.
  vfs_.faults.sync_fails = false;
  const int before = vfs_.faults.syncs;
  const Status second = add("refused");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().next, HasSubstr("start the server again"));
  std::string why;
  EXPECT_FALSE(database_->writable(&why));
  EXPECT_FALSE(why.empty());
  EXPECT_EQ(count(), 1);
  database_.reset();
  EXPECT_EQ(vfs_.faults.syncs, before);
}

TEST_F(SqliteTest, AStoreThatIsLockedForTooLongIsUnavailable) {
  options_.busy_time = std::chrono::milliseconds(30);
  open();
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(options_.path.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const Status refused = add("a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(database_->writable());
  EXPECT_EQ(count(), 0);
  ASSERT_EQ(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  EXPECT_TRUE(add("a"));
}

TEST_F(SqliteTest, ANewerStoreIsLeftUntouched) {
  open();
  ASSERT_TRUE(add("a"));
  database_.reset();
  const std::string before = *read_file(options_.path);
  const auto opened = open_sqlite(options_, {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kConflict);
  EXPECT_THAT(opened.error().message, HasSubstr("newer"));
  EXPECT_EQ(*read_file(options_.path), before);
}

TEST_F(SqliteTest, ADatabaseOfAnotherProgramIsRefusedAndLeftUntouched) {
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(options_.path.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "CREATE TABLE theirs (x)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  const std::string before = *read_file(options_.path);
  const auto opened = open_sqlite(options_, kSteps);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kConflict);
  EXPECT_EQ(*read_file(options_.path), before);
}

TEST_F(SqliteTest, AFileThatIsNoDatabaseIsSaidToBeDamaged) {
  std::ofstream(options_.path) << std::string(8192, 'x');
  const auto opened = open_sqlite(options_, kSteps);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("damaged"));
  EXPECT_EQ(*read_file(options_.path), std::string(8192, 'x'));
}

TEST_F(SqliteTest, ADamagedPageIsFoundAtTheStart) {
  open();
  ASSERT_TRUE(database_->write([&](Writer& writer) -> Status {
    for (int i = 0; i < 2000; ++i)
      SLIPWAY_TRY(writer.run("INSERT INTO items (name) VALUES (?)", {std::string(50, 'n')}));
    return {};
  }));
  database_.reset();
  std::string bytes = *read_file(options_.path);
  ASSERT_GT(bytes.size(), 20U * 4096);
  bytes.replace(10 * 4096, 2048, std::string(2048, '\xff'));
  ASSERT_TRUE(replace_file(options_.path, bytes));
  const auto opened = open_sqlite(options_, kSteps);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kInternal);
  EXPECT_THAT(opened.error().message, HasSubstr("damaged"));
}

TEST_F(SqliteTest, AFolderThatIsNotThereIsNamed) {
  options_.path = folder_.file("none/store.db");
  const auto opened = open_sqlite(options_, kSteps);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr(options_.path));
}

TEST_F(SqliteTest, TheLogIsMovedWhenNobodyWritesAndIsThenOverwritten) {
  open();
  const std::string large(64 << 10, 'x');
  ASSERT_TRUE(add(large));
  const uint64_t size = log_size();
  const int before = vfs_.faults.file_writes;
  wait_until([&] { return vfs_.faults.file_writes > before; });
  // The move may be in progress still; once it is done, the log begins anew.
  wait_until([&] {
    EXPECT_TRUE(add("a"));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return log_size() == size;
  });
  EXPECT_LE(log_size(), size + (64 << 10));
}

TEST_F(SqliteTest, TheLogStaysBoundedUnderLoad) {
  open();
  const std::string large(256 << 10, 'x');
  for (int i = 0; i < 120; ++i) ASSERT_TRUE(add(large));  // 30 MiB through a log of about 8
  EXPECT_LT(log_size(), 16U << 20);
  EXPECT_GT(vfs_.faults.file_writes, 0);
}

TEST_F(SqliteTest, AReaderInTheWayDelaysTheCheckpointButNobody) {
  open();
  ASSERT_TRUE(add("first"));
  ASSERT_TRUE(database_->read([&](Reader& reader) -> Status {
    const auto rows = [&] {
      int64_t found = 0;
      EXPECT_TRUE(
          reader.query("SELECT COUNT(*) FROM items", {}, [&](const Row& row) { found = row.integer(0); }));
      return found;
    };
    EXPECT_EQ(rows(), 1);
    const std::string large(256 << 10, 'x');
    for (int i = 0; i < 60; ++i) EXPECT_TRUE(add(large));
    EXPECT_EQ(rows(), 1);
    return {};
  }));
  EXPECT_EQ(count(), 61);
}

// A child writes until it is killed and reports each acknowledged number through a pipe: all of them must be
// there.
TEST_F(SqliteTest, NothingAcknowledgedIsLostWhenTheProcessIsKilled) {
  for (int round = 0; round < 5; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto opened = open_sqlite(options_, kSteps);
      if (!opened) ::_exit(1);
      for (int i = 0;; ++i) {
        const std::string name = std::to_string(round) + "." + std::to_string(i);
        const Status added = (*opened)->write(
            [&](Writer& writer) { return writer.run("INSERT INTO items (name) VALUES (?)", {name}); });
        if (!added || ::write(ends[1], &i, sizeof i) != sizeof i) ::_exit(1);
      }
    }
    ::close(ends[1]);
    int acknowledged = -1;
    while (acknowledged < 50 + round * 13) ASSERT_EQ(::read(ends[0], &acknowledged, sizeof acknowledged), 4);
    ::kill(child, SIGKILL);
    while (::read(ends[0], &acknowledged, sizeof acknowledged) == 4) {
    }
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);

    open();
    int64_t last = -1;
    ASSERT_TRUE(database_->read([&](Reader& reader) {
      return reader.query("SELECT COUNT(*) FROM items WHERE name LIKE ?", {std::to_string(round) + ".%"},
                          [&](const Row& row) { last = row.integer(0) - 1; });
    }));
    EXPECT_GE(last, acknowledged);
    database_.reset();
  }
}

}  // namespace
}  // namespace slipway::store

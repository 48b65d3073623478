// What every back end of the store must do. A new one joins by naming itself in Backends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>

#include "store/testing.h"

namespace slipway::store {
namespace {

using testing::ElementsAre;

constexpr Migration kFirst{.version = 1,
                           .name = "first",
                           .sql =
                               "CREATE TABLE items (id BIGSERIAL PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
                               "count BIGINT, size DOUBLE PRECISION, content BLOB);"};
constexpr Migration kSecond{
    .version = 2, .name = "second", .sql = "ALTER TABLE items ADD COLUMN colour TEXT;"};

struct Sqlite {
  TestFolder folder;

  Result<std::unique_ptr<Database>> open(const std::vector<Migration>& steps, size_t queue_limit = 4096,
                                         Duration write_time = std::chrono::seconds(20)) {
    SqliteOptions options;
    options.path = folder.file("store.db");
    options.queue_limit = queue_limit;
    options.write_time = write_time;
    return open_sqlite(options, steps);
  }
};

template <class Backend>
class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override { reopen({kFirst}); }

  void reopen(const std::vector<Migration>& steps, size_t queue_limit = 4096,
              Duration write_time = std::chrono::seconds(20)) {
    database_.reset();
    auto opened = backend_.open(steps, queue_limit, write_time);
    ASSERT_TRUE(opened) << opened.error().message << opened.error().detail;
    database_ = std::move(*opened);
  }

  Status add(std::string name) {
    return database_->write([&](Writer& writer) { return insert(writer, name); });
  }
  static Status insert(Writer& writer, const std::string& name) {
    return writer.run("INSERT INTO items (name) VALUES (?)", {name});
  }

  std::vector<std::string> names() {
    std::vector<std::string> found;
    const Status read = database_->read([&](Reader& reader) {
      return reader.query("SELECT name FROM items ORDER BY id", {},
                          [&](const Row& row) { found.emplace_back(row.text(0)); });
    });
    EXPECT_TRUE(read);
    return found;
  }

  Backend backend_;
  std::unique_ptr<Database> database_;
};

// Holds the writer inside one closure until it is let go, so that what comes meanwhile waits.
class HeldWriter {
 public:
  explicit HeldWriter(Database& database)
      : thread_([this, &database] {
          (void)database.write([this](Writer&) -> Status {
            std::unique_lock lock(mutex_);
            held_ = true;
            changed_.notify_all();
            changed_.wait(lock, [this] { return released_; });
            return {};
          });
        }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return held_; });
  }
  ~HeldWriter() { release(); }
  void release() {
    {
      const std::lock_guard lock(mutex_);
      released_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  bool released_ = false;
  std::thread thread_;
};

using Backends = testing::Types<Sqlite>;
TYPED_TEST_SUITE(DatabaseTest, Backends);

TYPED_TEST(DatabaseTest, KeepsEveryKindOfValue) {
  const std::string odd("a\0b'\"; DROP TABLE items; \xc3\xa9", 28);
  const int64_t least = std::numeric_limits<int64_t>::min();
  ASSERT_TRUE(this->database_->write([&](Writer& writer) {
    return writer.run("INSERT INTO items (name, count, size, content) VALUES (?, ?, ?, ?)",
                      {odd, least, 1.5e300, Value::blob(odd)});
  }));
  int rows = 0;
  ASSERT_TRUE(this->database_->read([&](Reader& reader) {
    return reader.query("SELECT name, count, size, content FROM items", {}, [&](const Row& row) {
      ++rows;
      EXPECT_EQ(row.text(0), odd);
      EXPECT_EQ(row.integer(1), least);
      EXPECT_EQ(row.real(2), 1.5e300);
      EXPECT_EQ(row.text(3), odd);
    });
  }));
  EXPECT_EQ(rows, 1);
}

TYPED_TEST(DatabaseTest, TellsNullFromEmpty) {
  ASSERT_TRUE(this->database_->write([&](Writer& writer) {
    return writer.run("INSERT INTO items (name, count, content) VALUES (?, ?, ?)",
                      {"", std::optional<int64_t>(), nullptr});
  }));
  ASSERT_TRUE(this->database_->read([&](Reader& reader) {
    return reader.query("SELECT name, count, content FROM items", {}, [&](const Row& row) {
      EXPECT_FALSE(row.is_null(0));
      EXPECT_EQ(row.maybe_text(0), "");
      EXPECT_EQ(row.maybe_integer(1), std::nullopt);
      EXPECT_EQ(row.maybe_text(2), std::nullopt);
    });
  }));
}

TYPED_TEST(DatabaseTest, CountsTheRowsItChanged) {
  ASSERT_TRUE(this->add("a"));
  ASSERT_TRUE(this->add("b"));
  ASSERT_TRUE(this->database_->write([](Writer& writer) -> Status {
    EXPECT_EQ(*writer.execute("UPDATE items SET count = 1"), 2);
    EXPECT_EQ(*writer.execute("DELETE FROM items WHERE name = ?", {"none"}), 0);
    return {};
  }));
}

TYPED_TEST(DatabaseTest, ReturnsTheNumberOfANewRow) {
  int64_t first = 0;
  int64_t second = 0;
  const std::string sql = "INSERT INTO items (name) VALUES (?) RETURNING id";
  ASSERT_TRUE(this->database_->write([&](Writer& writer) -> Status {
    SLIPWAY_TRY(writer.query(sql, {"a"}, [&](const Row& row) { first = row.integer(0); }));
    return writer.query(sql, {"b"}, [&](const Row& row) { second = row.integer(0); });
  }));
  EXPECT_GT(second, first);
  EXPECT_GT(first, 0);
}

TYPED_TEST(DatabaseTest, NeverGivesANumberTwice) {
  ASSERT_TRUE(this->add("a"));
  int64_t id = 0;
  const auto newest = [&] {
    EXPECT_TRUE(this->database_->read([&](Reader& reader) {
      return reader.query("SELECT MAX(id) FROM items", {}, [&](const Row& row) { id = row.integer(0); });
    }));
    return id;
  };
  const int64_t before = newest();
  ASSERT_TRUE(this->database_->write([](Writer& writer) { return writer.run("DELETE FROM items"); }));
  ASSERT_TRUE(this->add("b"));
  EXPECT_GT(newest(), before);
}

TYPED_TEST(DatabaseTest, SaysConflictForANameThatIsTaken) {
  ASSERT_TRUE(this->add("a"));
  const Status again = this->add("a");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kConflict);
}

TYPED_TEST(DatabaseTest, SaysInternalForABadStatementAndKeepsTheTextForTheLog) {
  const Status read = this->database_->read(
      [](Reader& reader) { return reader.query("SELECT nonsense FROM items", {}, [](const Row&) {}); });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kInternal);
  EXPECT_THAT(read.error().detail, testing::HasSubstr("nonsense"));
  EXPECT_THAT(read.error().message, testing::Not(testing::HasSubstr("nonsense")));
}

TYPED_TEST(DatabaseTest, RefusesAWrongNumberOfValues) {
  const Status written = this->database_->write(
      [](Writer& writer) { return writer.run("INSERT INTO items (name) VALUES (?)", {"a", "b"}); });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kInternal);
}

TYPED_TEST(DatabaseTest, RefusesToWriteThroughAReader) {
  const Status read = this->database_->read([](Reader& reader) {
    return reader.query("INSERT INTO items (name) VALUES ('a')", {}, [](const Row&) {});
  });
  EXPECT_FALSE(read);
  EXPECT_THAT(this->names(), testing::IsEmpty());
}

TYPED_TEST(DatabaseTest, UndoesAllOfAClosureThatFails) {
  const Status written = this->database_->write([&](Writer& writer) -> Status {
    SLIPWAY_TRY(this->insert(writer, "a"));
    SLIPWAY_TRY(this->insert(writer, "b"));
    return fail(ErrorCode::kNotFound, "it was not there");
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "it was not there");
  EXPECT_THAT(this->names(), testing::IsEmpty());
}

TYPED_TEST(DatabaseTest, UndoesAClosureThatThrows) {
  const Status written = this->database_->write([&](Writer& writer) -> Status {
    SLIPWAY_TRY(this->insert(writer, "a"));
    throw std::runtime_error("thrown");
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kInternal);
  EXPECT_THAT(this->names(), testing::IsEmpty());
}

TYPED_TEST(DatabaseTest, AFailingClosureDoesNotHurtItsNeighbours) {
  HeldWriter held(*this->database_);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([this, i, &good] {
      const Status written = this->database_->write([&](Writer& writer) -> Status {
        SLIPWAY_TRY(this->insert(writer, std::to_string(i)));
        if (i % 2 == 1) return fail(ErrorCode::kInvalidArgument, "odd");
        return {};
      });
      EXPECT_EQ(written.has_value(), i % 2 == 0);
      good += written ? 1 : 0;
    });
  }
  held.release();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 10);
  EXPECT_EQ(this->names().size(), 10U);
}

TYPED_TEST(DatabaseTest, RunsActionsAfterTheCommitOnly) {
  std::vector<std::string> log;
  ASSERT_TRUE(this->database_->write([&](Writer& writer) -> Status {
    writer.after_commit([&] {
      // Another connection sees the row: the commit is behind us.
      log.push_back(this->names().empty() ? "early" : "late");
    });
    log.push_back("work");
    return this->insert(writer, "a");
  }));
  EXPECT_THAT(log, ElementsAre("work", "late"));
}

TYPED_TEST(DatabaseTest, DropsTheActionsOfAClosureThatFails) {
  bool ran = false;
  EXPECT_FALSE(this->database_->write([&](Writer& writer) -> Status {
    writer.after_commit([&] { ran = true; });
    return fail(ErrorCode::kConflict, "no");
  }));
  ASSERT_TRUE(this->add("a"));
  EXPECT_FALSE(ran);
}

TYPED_TEST(DatabaseTest, AReaderSeesOneSnapshot) {
  ASSERT_TRUE(this->add("a"));
  ASSERT_TRUE(this->database_->read([&](Reader& reader) -> Status {
    const auto count = [&] {
      int64_t rows = 0;
      EXPECT_TRUE(
          reader.query("SELECT COUNT(*) FROM items", {}, [&](const Row& row) { rows = row.integer(0); }));
      return rows;
    };
    EXPECT_EQ(count(), 1);
    EXPECT_TRUE(this->add("b"));
    EXPECT_EQ(count(), 1);
    return {};
  }));
  EXPECT_EQ(this->names().size(), 2U);
}

TYPED_TEST(DatabaseTest, AQueryMayRunInsideTheRowsOfTheSameQuery) {
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(this->add(name));
  const std::string sql = "SELECT name FROM items ORDER BY id";
  std::string seen;
  ASSERT_TRUE(this->database_->read([&](Reader& reader) {
    return reader.query(sql, {}, [&](const Row& outer) {
      seen += outer.text(0);
      EXPECT_TRUE(reader.query(sql, {}, [&](const Row& inner) { seen += inner.text(0); }));
    });
  }));
  EXPECT_EQ(seen, "aabcbabccabc");
}

TYPED_TEST(DatabaseTest, TakesMoreStatementsThanItKeeps) {
  ASSERT_TRUE(this->add("a"));
  ASSERT_TRUE(this->database_->read([&](Reader& reader) -> Status {
    for (int round = 0; round < 2; ++round)
      for (int i = 0; i < 300; ++i)
        SLIPWAY_TRY(reader.query("SELECT name, " + std::to_string(i) + " FROM items", {},
                                 [&](const Row& row) { EXPECT_EQ(row.integer(1), i); }));
    return {};
  }));
}

TYPED_TEST(DatabaseTest, KeepsWhatIsAcknowledgedAcrossAReopening) {
  ASSERT_TRUE(this->add("a"));
  this->reopen({kFirst});
  EXPECT_THAT(this->names(), ElementsAre("a"));
}

TYPED_TEST(DatabaseTest, RefusesWritesBeyondTheQueue) {
  this->reopen({kFirst}, 2);
  HeldWriter held(*this->database_);
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      const Status written = this->add(std::to_string(i));
      if (written) return;
      EXPECT_EQ(written.error().code, ErrorCode::kUnavailable);
      ++refused;
    });
  }
  while (refused < 3) std::this_thread::yield();
  held.release();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(this->names().size(), 2U);
}

TYPED_TEST(DatabaseTest, GivesUpAWriteThatWaitsTooLongAndNeverDoesItLater) {
  this->reopen({kFirst}, 100, std::chrono::milliseconds(20));
  HeldWriter held(*this->database_);
  const Status written = this->add("late");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUnavailable);
  held.release();
  EXPECT_THAT(this->names(), testing::IsEmpty());
}

TYPED_TEST(DatabaseTest, ManyWritersAndReadersGetAlong) {
  constexpr int kThreads = 8;
  constexpr int kEach = 50;
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    size_t last = 0;
    while (!stop) {
      const size_t now = this->names().size();
      EXPECT_GE(now, last);
      last = now;
    }
  });
  std::vector<std::thread> writers;
  for (int t = 0; t < kThreads; ++t)
    writers.emplace_back([this, t] {
      for (int i = 0; i < kEach; ++i) EXPECT_TRUE(this->add(std::to_string(t) + "." + std::to_string(i)));
    });
  for (std::thread& thread : writers) thread.join();
  stop = true;
  reader.join();
  EXPECT_EQ(this->names().size(), static_cast<size_t>(kThreads * kEach));
}

TYPED_TEST(DatabaseTest, TakesOnlyTheStepsThatAreNew) {
  ASSERT_TRUE(this->add("a"));
  this->reopen({kFirst, kSecond});
  ASSERT_TRUE(this->database_->write(
      [](Writer& writer) { return writer.run("UPDATE items SET colour = 'red' WHERE name = 'a'"); }));
  this->reopen({kFirst, kSecond});
  EXPECT_THAT(this->names(), ElementsAre("a"));
}

TYPED_TEST(DatabaseTest, AStepThatFailsLeavesTheStoreAsItWas) {
  ASSERT_TRUE(this->add("a"));
  this->database_.reset();
  const Migration broken{
      .version = 2, .name = "broken", .sql = "CREATE TABLE half (x BIGINT); CREATE NONSENSE;"};
  EXPECT_FALSE(this->backend_.open({kFirst, broken}));
  this->reopen({kFirst, kSecond});
  EXPECT_THAT(this->names(), ElementsAre("a"));
  EXPECT_FALSE(this->database_->read(
      [](Reader& reader) { return reader.query("SELECT * FROM half", {}, [](const Row&) {}); }));
}

TYPED_TEST(DatabaseTest, RefusesAStoreOfANewerProgram) {
  this->reopen({kFirst, kSecond});
  this->database_.reset();
  const auto opened = this->backend_.open({kFirst});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kConflict);
  EXPECT_THAT(opened.error().message, testing::HasSubstr("newer"));
}

TYPED_TEST(DatabaseTest, TheProgramsOwnSchemaIsAccepted) {
  this->reopen(migrations());
}

}  // namespace
}  // namespace slipway::store

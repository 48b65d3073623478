#include <limits>

#include "store/database_fixture.h"

namespace slipway::store {
namespace {

using testing::ElementsAre;

TYPED_TEST_SUITE(DatabaseTest, Backends);

TYPED_TEST(DatabaseTest, KeepsEveryKindOfValue) {
  const std::string odd("a\0b'\"; DROP TABLE items; \xc3\xa9", 27);
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

TYPED_TEST(DatabaseTest, TheProgramsOwnSchemaIsAcceptedByAnEmptyStore) {
  TypeParam empty;
  const auto opened = empty.open(migrations());
  EXPECT_TRUE(opened) << opened.error().message << opened.error().detail;
}

}  // namespace
}  // namespace slipway::store

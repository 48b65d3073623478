// For tests: what every back end of the store is put through. A new one joins by naming itself in Backends.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "store/testing.h"

namespace slipway::store {

inline constexpr Migration kFirst{
    .version = 1,
    .name = "first",
    .sql =
        "CREATE TABLE items (id BIGSERIAL PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
        "count BIGINT, size DOUBLE PRECISION, content BLOB);"};
inline constexpr Migration kSecond{
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

  Status add(const std::string& name) {
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

using Backends = testing::Types<Sqlite>;

}  // namespace slipway::store

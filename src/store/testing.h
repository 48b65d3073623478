// For tests: a store in a folder of its own, both gone afterwards.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "store/database.h"

namespace slipway::store {

class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "slipway-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// The schema of this program, empty.
class TestStore {
 public:
  TestStore() {
    SqliteOptions options;
    options.path = folder_.file("slipway.db");
    auto opened = open_sqlite(options, migrations());
    if (!opened) {
      ADD_FAILURE() << opened.error().message << " " << opened.error().detail;
      std::abort();
    }
    database_ = std::move(*opened);
  }
  Database& database() { return *database_; }
  Database* operator->() { return database_.get(); }
  const TestFolder& folder() const { return folder_; }

  // One number from one statement.
  int64_t number(std::string_view sql, const Values& values = {}) {
    int64_t found = -1;
    const Status read = database_->read([&](Reader& reader) {
      return reader.query(sql, values, [&](const Row& row) { found = row.integer(0); });
    });
    EXPECT_TRUE(read) << (read ? "" : read.error().detail);
    return found;
  }

 private:
  TestFolder folder_;
  std::unique_ptr<Database> database_;
};

}  // namespace slipway::store

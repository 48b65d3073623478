// One SQLite connection with its prepared statements. SQLite's own header stays inside this folder's .cc
// files. Not thread-safe: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "store/database.h"

struct sqlite3;
struct sqlite3_stmt;

namespace slipway::store {

// What a failure says about the disk beneath, beyond the one statement.
enum class StorageFault {
  kNone,
  kFull,    // no space; the store is whole and can be written again once there is some
  kFailed,  // a sync or a write failed: what is on disk is unknown, nothing may be written any more
};

class Connection {
 public:
  enum class Mode {
    kInspect,  // reads only and changes no byte of the file, not even when it is closed
    kRead,
    kWrite,
  };

  // kNotFound in kInspect for a missing file; creates it (0600) in kWrite.
  static Result<std::unique_ptr<Connection>> open(const std::string& path, Mode mode, Duration busy_time);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Status query(std::string_view sql, const Values& values, const std::function<void(const Row&)>& on_row);
  Result<int64_t> execute(std::string_view sql, const Values& values = {});
  // Several statements, none of them kept.
  Status run_script(const std::string& sql);
  // The first column of the first row; 0 without one.
  Result<int64_t> integer(std::string_view sql);

  // False also after SQLite gave the whole transaction up by itself, as it does on a full disk.
  bool in_transaction() const;
  // Gives up the transaction, if there is one.
  void roll_back();
  // Of the latest failure.
  StorageFault fault() const { return fault_; }
  void clear_fault() { fault_ = StorageFault::kNone; }

  // How long to wait for another process's lock.
  void set_busy_time(Duration time);
  // Closing then leaves the write-ahead log as it is.
  void forbid_checkpoint_on_close();
  // Ends any statement in progress after `time`, until called again with zero.
  void limit_time(Duration time);
  // Pages in the write-ahead log after this connection's last commit.
  int wal_pages() const { return wal_pages_; }
  // Moves the log into the file, as far as readers allow; true when all of it was moved. The log's own file
  // stays: the next transactions overwrite it, and a sync of bytes in place is far cheaper than one of a
  // growing file.
  Result<bool> checkpoint();

 private:
  class Statement;
  struct Prepared {
    std::string sql;
    sqlite3_stmt* statement;
  };

  explicit Connection(sqlite3* handle) : handle_(handle) {}

  Result<Statement> prepare(std::string_view sql);
  Status bind(sqlite3_stmt* statement, const Values& values, std::string_view sql);
  void drop_oldest();
  std::unexpected<Error> failure(std::string_view doing);

  sqlite3* handle_;
  std::list<Prepared> prepared_;  // the one used last in front
  std::unordered_map<std::string_view, std::list<Prepared>::iterator> by_text_;
  StorageFault fault_ = StorageFault::kNone;
  int wal_pages_ = 0;
  Monotonic deadline_{};
};

}  // namespace slipway::store

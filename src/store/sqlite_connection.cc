#include "store/sqlite_connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "base/fd.h"
#include "base/log.h"

namespace slipway::store {
namespace {

// Statements differ by their text only, so the set is small; the bound is for texts with lists in them.
constexpr size_t kPreparedLimit = 128;

class StatementRow final : public Row {
 public:
  explicit StatementRow(sqlite3_stmt* statement) : statement_(statement) {}
  bool is_null(int column) const override { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  int64_t integer(int column) const override { return sqlite3_column_int64(statement_, column); }
  double real(int column) const override { return sqlite3_column_double(statement_, column); }
  std::string_view text(int column) const override {
    // The pointer first: asking for the size before it would be of another encoding.
    const void* bytes = sqlite3_column_type(statement_, column) == SQLITE_BLOB
                            ? sqlite3_column_blob(statement_, column)
                            : sqlite3_column_text(statement_, column);
    if (bytes == nullptr) return {};
    return {static_cast<const char*>(bytes), static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_;
};

bool is_sync_failure(int code) {
  return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
}

StorageFault storage_fault(int code, int system_error) {
  if (is_sync_failure(code)) return StorageFault::kFailed;
  const int primary = code & 0xff;
  if (primary == SQLITE_FULL) return StorageFault::kFull;
  if (primary != SQLITE_IOERR) return StorageFault::kNone;
  if (system_error == ENOSPC || system_error == EDQUOT) return StorageFault::kFull;
  const bool about_writing =
      code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_TRUNCATE || code == SQLITE_IOERR_SHMSIZE;
  return about_writing ? StorageFault::kFailed : StorageFault::kNone;
}

Error describe(int code, StorageFault fault) {
  if (fault == StorageFault::kFull)
    return {ErrorCode::kStorageFull, "the disk under the metadata store is full",
            "free some space on the server's disk; writing goes on by itself then", ""};
  if (fault == StorageFault::kFailed)
    return {ErrorCode::kUnavailable, "the disk under the metadata store failed to keep a write",
            "look at the server's disk, then start the server again", ""};
  switch (code & 0xff) {
    case SQLITE_CONSTRAINT:
      if (code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY ||
          code == SQLITE_CONSTRAINT_ROWID)
        return {ErrorCode::kConflict, "something of that name exists already", "choose another name", ""};
      if (code == SQLITE_CONSTRAINT_FOREIGNKEY)
        return {ErrorCode::kConflict, "what this belongs to no longer exists", "", ""};
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kUnavailable, "the metadata store is locked by another program",
              "try again; if it lasts, find what holds slipway.db open", ""};
    case SQLITE_INTERRUPT: return {ErrorCode::kTimeout, "the metadata store took too long", "try again", ""};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorCode::kInternal, "the metadata store is damaged",
              "stop the server and restore slipway.db from a copy", ""};
    default: break;
  }
  return {ErrorCode::kInternal, "the metadata store failed", "the server's log has the detail", ""};
}

int past_deadline(void* deadline) {
  return std::chrono::steady_clock::now() > *static_cast<const Monotonic*>(deadline) ? 1 : 0;
}

int milliseconds(Duration time) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

// SQLite would create the file with the umask's mode; its log and index take the mode of the file.
Status create_private_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return fail(errno_error(errno, fmt::format("open the metadata store {}", path)));
  return {};
}

constexpr const char* kSettings =
    "PRAGMA synchronous = FULL;"
    "PRAGMA wal_autocheckpoint = 0;"
    "PRAGMA foreign_keys = ON;"
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA mmap_size = 0;"  // mapped pages would count as the server's memory; the kernel caches them anyway
    "PRAGMA cell_size_check = ON;"
    "PRAGMA trusted_schema = OFF;";

}  // namespace

// A prepared statement in use: reset when it goes, and finalised if it was not one of the kept ones.
class Connection::Statement {
 public:
  Statement(sqlite3_stmt* statement, bool kept) : statement_(statement), kept_(kept) {}
  Statement(Statement&& other) noexcept
      : statement_(std::exchange(other.statement_, nullptr)), kept_(other.kept_) {}
  Statement& operator=(Statement&&) = delete;
  ~Statement() {
    if (statement_ == nullptr) return;
    if (kept_) {
      sqlite3_reset(statement_);
      sqlite3_clear_bindings(statement_);
    } else {
      sqlite3_finalize(statement_);
    }
  }
  sqlite3_stmt* get() const { return statement_; }

 private:
  sqlite3_stmt* statement_;
  bool kept_;
};

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, Mode mode, Duration busy_time) {
  if (mode == Mode::kWrite) SLIPWAY_TRY(create_private_file(path));
  const int access = mode == Mode::kInspect ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (handle == nullptr) return fail(ErrorCode::kInternal, "there is no memory for the metadata store");
  std::unique_ptr<Connection> connection(new Connection(handle));
  if (code != SQLITE_OK) return connection->failure(fmt::format("open {}", path));
  connection->set_busy_time(busy_time);
  if (mode != Mode::kWrite) connection->forbid_checkpoint_on_close();
  if (mode == Mode::kInspect) return connection;
  SLIPWAY_TRY(connection->run_script(kSettings));
  if (mode == Mode::kRead) {
    SLIPWAY_TRY(connection->run_script("PRAGMA query_only = ON; PRAGMA cache_size = -1000;"));
  } else {
    // A log that a slow reader made longer than this is cut when it begins anew.
    SLIPWAY_TRY(connection->run_script(
        "PRAGMA journal_mode = WAL; PRAGMA cache_size = -4000; PRAGMA journal_size_limit = 16777216;"));
    sqlite3_wal_hook(
        handle,
        [](void* self, sqlite3*, const char*, int pages) {
          static_cast<Connection*>(self)->wal_pages_ = pages;
          return SQLITE_OK;
        },
        connection.get());
  }
  return connection;
}

Connection::~Connection() {
  for (const Prepared& prepared : prepared_) sqlite3_finalize(prepared.statement);
  sqlite3_close_v2(handle_);
}

std::unexpected<Error> Connection::failure(std::string_view doing) {
  const int code = sqlite3_extended_errcode(handle_);
  fault_ = std::max(fault_, storage_fault(code, sqlite3_system_errno(handle_)));
  Error error = describe(code, storage_fault(code, sqlite3_system_errno(handle_)));
  error.detail = fmt::format("sqlite {} ({}), {}", sqlite3_errmsg(handle_), code, doing);
  return fail(std::move(error));
}

void Connection::drop_oldest() {
  // One that is being stepped by a caller further up stays; there are never many of those.
  for (auto oldest = prepared_.end(); oldest != prepared_.begin();) {
    --oldest;
    if (sqlite3_stmt_busy(oldest->statement) != 0) continue;
    sqlite3_finalize(oldest->statement);
    by_text_.erase(oldest->sql);
    prepared_.erase(oldest);
    return;
  }
}

Result<Connection::Statement> Connection::prepare(std::string_view sql) {
  const auto found = by_text_.find(sql);
  const bool known = found != by_text_.end();
  if (known) {
    prepared_.splice(prepared_.begin(), prepared_, found->second);
    // In use further up the stack (a query inside another's rows): that one goes on, this gets a copy of its
    // own.
    if (sqlite3_stmt_busy(found->second->statement) == 0) return Statement(found->second->statement, true);
  }
  sqlite3_stmt* statement = nullptr;
  const unsigned flags = known ? 0 : SQLITE_PREPARE_PERSISTENT;
  if (sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), flags, &statement, nullptr) !=
      SQLITE_OK)
    return failure(sql);
  if (statement == nullptr)
    return fail(ErrorCode::kInternal, "an empty statement was given to the metadata store");
  if (known) return Statement(statement, false);
  if (prepared_.size() >= kPreparedLimit) drop_oldest();
  prepared_.push_front({std::string(sql), statement});
  by_text_.emplace(prepared_.front().sql, prepared_.begin());
  return Statement(statement, true);
}

Status Connection::bind(sqlite3_stmt* statement, const Values& values, std::string_view sql) {
  if (sqlite3_bind_parameter_count(statement) != static_cast<int>(values.size()))
    return fail(Error{ErrorCode::kInternal, "the metadata store failed", "the server's log has the detail",
                      fmt::format("{} values given to: {}", values.size(), sql)});
  int index = 0;
  for (const Value& value : values) {
    ++index;
    // The values outlive the step and the bindings are cleared after it: nothing is copied.
    const int code = std::visit(
        [&](const auto& held) {
          using T = std::decay_t<decltype(held)>;
          if constexpr (std::is_same_v<T, std::monostate>) return sqlite3_bind_null(statement, index);
          if constexpr (std::is_same_v<T, int64_t>) return sqlite3_bind_int64(statement, index, held);
          if constexpr (std::is_same_v<T, double>) return sqlite3_bind_double(statement, index, held);
          if constexpr (std::is_same_v<T, std::string>)
            return sqlite3_bind_text64(statement, index, held.data(), held.size(), SQLITE_STATIC,
                                       SQLITE_UTF8);
          if constexpr (std::is_same_v<T, Value::Blob>)
            return sqlite3_bind_blob64(statement, index, held.bytes.data(), held.bytes.size(), SQLITE_STATIC);
          return SQLITE_MISUSE;
        },
        value.variant());
    if (code != SQLITE_OK) return failure(sql);
  }
  return {};
}

Status Connection::query(std::string_view sql, const Values& values,
                         const std::function<void(const Row&)>& on_row) {
  SLIPWAY_ASSIGN(const Statement statement, prepare(sql));
  SLIPWAY_TRY(bind(statement.get(), values, sql));
  const StatementRow row(statement.get());
  int code = SQLITE_OK;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) on_row(row);
  if (code != SQLITE_DONE) return failure(sql);
  return {};
}

Result<int64_t> Connection::execute(std::string_view sql, const Values& values) {
  SLIPWAY_ASSIGN(const Statement statement, prepare(sql));
  SLIPWAY_TRY(bind(statement.get(), values, sql));
  int code = SQLITE_OK;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
  }
  if (code != SQLITE_DONE) return failure(sql);
  return sqlite3_stmt_readonly(statement.get()) != 0 ? 0 : sqlite3_changes64(handle_);
}

Status Connection::run_script(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failure(sql);
  return {};
}

Result<int64_t> Connection::integer(std::string_view sql) {
  int64_t number = 0;
  SLIPWAY_TRY(query(sql, {}, [&](const Row& row) { number = row.integer(0); }));
  return number;
}

bool Connection::in_transaction() const {
  return sqlite3_get_autocommit(handle_) == 0;
}

void Connection::roll_back() {
  if (!in_transaction()) return;
  // It touches no disk; when it fails, SQLite has rolled back by itself.
  if (const auto ended = execute("ROLLBACK"); !ended)
    log_warning("store.rollback", {{"error", ended.error()}});
}

void Connection::set_busy_time(Duration time) {
  sqlite3_busy_timeout(handle_, milliseconds(time));
}

void Connection::forbid_checkpoint_on_close() {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void Connection::limit_time(Duration time) {
  if (time == Duration::zero()) return sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
  deadline_ = std::chrono::steady_clock::now() + time;
  sqlite3_progress_handler(handle_, 1000, past_deadline, &deadline_);
}

Result<bool> Connection::checkpoint() {
  int in_log = 0;
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved);
  // Another process in the way is no failure: the rest is moved the next time.
  if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY) return failure("checkpoint");
  return code == SQLITE_OK && in_log == moved;
}

}  // namespace slipway::store

// The metadata store behind a small SQL interface.
//
// Statements are written in the subset that SQLite and PostgreSQL share: `?` placeholders, ON CONFLICT,
// RETURNING, BIGINT, DOUBLE PRECISION, TEXT, BYTEA written as BLOB. What differs (placeholder style, type
// names, locking) is the back end's business; callers hold no dialect.
//
// Invariants
//   1. Only the writer thread writes. A closure passed to `write` runs there, inside one transaction.
//   2. `write` returns a success only after the transaction is on disk. Closures that wait together share one
//      transaction and one sync; one that fails is rolled back alone (savepoint) and does not hurt its
//      neighbours.
//   3. Readers see a consistent snapshot and never block the writer.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"

namespace slipway::store {

// A value bound to a `?`. Strings are copied.
class Value {
 public:
  Value(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  template <class T>
    requires std::integral<T>
  Value(T number) : value_(static_cast<int64_t>(number)) {}    // NOLINT(google-explicit-constructor)
  Value(double number) : value_(number) {}                     // NOLINT(google-explicit-constructor)
  Value(const char* text) : value_(std::string(text)) {}       // NOLINT(google-explicit-constructor)
  Value(std::string text) : value_(std::move(text)) {}         // NOLINT(google-explicit-constructor)
  Value(std::string_view text) : value_(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  Value(Timestamp time) : value_(time.micros) {}               // NOLINT(google-explicit-constructor)
  template <class Tag>
  Value(const Id<Tag>& id) : value_(id.str()) {}  // NOLINT(google-explicit-constructor)
  template <class T>
  Value(const std::optional<T>& maybe) {  // NOLINT(google-explicit-constructor)
    if (maybe) *this = Value(*maybe);
  }
  static Value blob(std::string bytes) {
    Value value(nullptr);
    value.value_ = Blob{std::move(bytes)};
    return value;
  }

  struct Blob {
    std::string bytes;
  };
  using Variant = std::variant<std::monostate, int64_t, double, std::string, Blob>;
  const Variant& variant() const { return value_; }

 private:
  Variant value_;
};

// One row of a result, valid until the callback returns.
class Row {
 public:
  virtual ~Row() = default;
  virtual bool is_null(int column) const = 0;
  virtual int64_t integer(int column) const = 0;
  virtual double real(int column) const = 0;
  virtual std::string_view text(int column) const = 0;  // also for blobs

  Timestamp time(int column) const { return {integer(column)}; }
  template <class IdType>
  IdType id(int column) const {
    return IdType(std::string(text(column)));
  }
  std::optional<int64_t> maybe_integer(int column) const {
    return is_null(column) ? std::nullopt : std::optional(integer(column));
  }
  std::optional<std::string> maybe_text(int column) const {
    return is_null(column) ? std::nullopt : std::optional(std::string(text(column)));
  }
};

using Values = std::vector<Value>;

// Reads. Statements are prepared once for each connection and kept.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual Status query(std::string_view sql, const Values& values,
                       const std::function<void(const Row&)>& on_row) = 0;
};

// Reads and writes inside the writer's transaction.
class Writer : public Reader {
 public:
  // The number of rows changed. A violated uniqueness is kConflict.
  virtual Result<int64_t> execute(std::string_view sql, const Values& values = {}) = 0;
  // The same, where the number does not matter.
  Status run(std::string_view sql, const Values& values = {}) {
    if (auto changed = execute(sql, values); !changed) return fail(std::move(changed).error());
    return {};
  }
  // Runs after the commit is on disk, on the writer thread: for wake-ups only.
  virtual void after_commit(std::function<void()> action) = 0;
};

class Database {
 public:
  virtual ~Database() = default;

  // Blocks until the transaction is durable or refused. kUnavailable when the queue is full or the store is
  // locked for too long, kStorageFull when the disk is; an error of `work` itself is passed on.
  virtual Status write(std::function<Status(Writer&)> work) = 0;
  // Runs `work` on a pooled read connection, in one snapshot. Not to be nested: each level holds a
  // connection.
  virtual Status read(const std::function<Status(Reader&)>& work) = 0;
  // False while the disk is full or a sync has failed: reads go on, writes are refused. `why` for people.
  virtual bool writable(std::string* why = nullptr) const = 0;
};

// One step of the schema, in order of `version`; a step and the version it leads to are one
// transaction.
struct Migration {
  int version;
  std::string_view name;
  std::string_view sql;  // statements separated by ';'; BIGSERIAL PRIMARY KEY numbers rows by itself
};

struct SqliteOptions {
  std::string path;
  size_t queue_limit = 4096;                       // writes waiting
  size_t group_limit = 256;                        // writes sharing one transaction
  unsigned readers = 4;                            // connections; opened when first needed
  Duration busy_time = std::chrono::seconds(2);    // for another process's lock, then kUnavailable
  Duration write_time = std::chrono::seconds(20);  // in the queue, then kUnavailable
  Duration read_time = std::chrono::seconds(20);   // for a free reader, then kUnavailable
};

// Opens or creates the file and brings it to the newest migration. kConflict when it was written by a newer
// program (the file is left untouched), kInternal with a clear sentence when the file is damaged
// (quick_check).
Result<std::unique_ptr<Database>> open_sqlite(const SqliteOptions& options,
                                              const std::vector<Migration>& migrations);

// The migrations of this program.
const std::vector<Migration>& migrations();

}  // namespace slipway::store

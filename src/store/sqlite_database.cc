// Opening a store: look without touching, then bring it to the newest migration, then start the writer.
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/failpoint.h"
#include "base/log.h"
#include "store/database.h"
#include "store/sqlite_connection.h"
#include "store/sqlite_readers.h"
#include "store/sqlite_writer.h"

namespace slipway::store {
namespace {

// "SLWP" in the file's header: no other program's database is ever taken for ours.
constexpr int64_t kApplicationId = 0x534c5750;
// A larger file is not read through at start: the server would not answer for that long.
constexpr off_t kFullCheckBytes = 64 << 20;
constexpr auto kFullCheckTime = std::chrono::seconds(1);

class SqliteDatabase final : public Database {
 public:
  SqliteDatabase(std::unique_ptr<Connection> connection, const SqliteOptions& options)
      : writer_(std::move(connection), options), readers_(options) {}

  Status write(std::function<Status(Writer&)> work) override { return writer_.write(std::move(work)); }
  Status read(const std::function<Status(Reader&)>& work) override { return readers_.read(work); }
  bool writable(std::string* why) const override { return writer_.writable(why); }

 private:
  WriterThread writer_;  // destroyed last: its connection closes the log
  ReaderPool readers_;
};

Status damaged(const std::string& path, std::string detail) {
  return fail(Error{ErrorCode::kInternal, fmt::format("the metadata store {} is damaged", path),
                    "restore it from a copy; the damaged file is left as it is", std::move(detail)});
}

Status check_pages(Connection& connection, const std::string& path, off_t bytes) {
  if (bytes > kFullCheckBytes) return {};
  std::string found;
  connection.limit_time(kFullCheckTime);
  const Status checked =
      connection.query("PRAGMA quick_check(1)", {}, [&](const Row& row) { found = row.text(0); });
  connection.limit_time(Duration::zero());
  if (!checked && checked.error().code == ErrorCode::kTimeout) {
    log_warning("store.check_cut_short", {{"path", path}});
    return {};
  }
  if (!checked) return damaged(path, checked.error().detail);
  if (found != "ok") return damaged(path, found);
  return {};
}

// Reads who wrote the file and whether its pages are sound, before anything of ours could change it.
Status inspect(const SqliteOptions& options, int newest) {
  struct stat info{};
  if (::stat(options.path.c_str(), &info) != 0 || info.st_size == 0) return {};
  SLIPWAY_ASSIGN(auto connection,
                 Connection::open(options.path, Connection::Mode::kInspect, options.busy_time));
  const auto owner = connection->integer("PRAGMA application_id");
  if (!owner && owner.error().code == ErrorCode::kInternal)
    return damaged(options.path, owner.error().detail);
  if (!owner) return fail(owner.error());
  SLIPWAY_ASSIGN(const int64_t version, connection->integer("PRAGMA user_version"));
  SLIPWAY_ASSIGN(const int64_t tables, connection->integer("SELECT COUNT(*) FROM sqlite_master"));
  if (*owner != kApplicationId && tables > 0)
    return fail(ErrorCode::kConflict, fmt::format("{} is a database of another program", options.path),
                "choose another home folder with --home");
  if (version > newest)
    return fail(
        ErrorCode::kConflict,
        fmt::format("the metadata store {} was written by a newer Slipway (schema {}, this program knows {})",
                    options.path, version, newest),
        "install that version again; the file is left as it is");
  return check_pages(*connection, options.path, info.st_size);
}

// What the shared subset of SQL cannot say in one way.
std::string in_sqlite(std::string_view sql) {
  constexpr std::string_view kSerial = "BIGSERIAL PRIMARY KEY";
  std::string text(sql);
  for (size_t at = 0; (at = text.find(kSerial, at)) != std::string::npos;)
    text.replace(at, kSerial.size(), "INTEGER PRIMARY KEY AUTOINCREMENT");
  return text;
}

// The step and the version it leads to are one transaction: a kill leaves the one or the other whole.
Status migrate(Connection& connection, const std::vector<Migration>& migrations) {
  SLIPWAY_ASSIGN(const int64_t version, connection.integer("PRAGMA user_version"));
  for (const Migration& step : migrations) {
    if (step.version <= version) continue;
    log_info("store.migrate", {{"version", step.version}, {"name", step.name}});
    SLIPWAY_TRY(connection.run_script("BEGIN IMMEDIATE"));
    Status done = connection.run_script(in_sqlite(step.sql));
    if (done)
      done = connection.run_script(
          fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, step.version));
    SLIPWAY_FAILPOINT("store.before_migration_commit");
    if (done) done = connection.run_script("COMMIT");
    if (!done) {
      connection.roll_back();
      return fail(done.error());
    }
    SLIPWAY_FAILPOINT("store.after_migration_commit");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Database>> open_sqlite(const SqliteOptions& options,
                                              const std::vector<Migration>& migrations) {
  SLIPWAY_TRY(inspect(options, migrations.empty() ? 0 : migrations.back().version));
  SLIPWAY_ASSIGN(auto connection,
                 Connection::open(options.path, Connection::Mode::kWrite, options.busy_time));
  SLIPWAY_TRY(migrate(*connection, migrations));
  return std::make_unique<SqliteDatabase>(std::move(connection), options);
}

}  // namespace slipway::store

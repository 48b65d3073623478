#include "store/sqlite_readers.h"

namespace slipway::store {
namespace {

class SnapshotReader final : public Reader {
 public:
  explicit SnapshotReader(Connection& connection) : connection_(connection) {}
  Status query(std::string_view sql, const Values& values,
               const std::function<void(const Row&)>& on_row) override {
    return connection_.query(sql, values, on_row);
  }

 private:
  Connection& connection_;
};

// Gives the snapshot up however the work ends: one that is held would keep the log from being emptied.
class Snapshot {
 public:
  explicit Snapshot(Connection& connection) : connection_(connection) {}
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() { connection_.roll_back(); }

 private:
  Connection& connection_;
};

}  // namespace

Result<std::unique_ptr<Connection>> ReaderPool::take() {
  std::unique_lock lock(mutex_);
  const auto available = [this] { return !idle_.empty() || open_ < options_.readers; };
  if (!came_back_.wait_for(lock, options_.read_time, available))
    return fail(ErrorCode::kUnavailable, "too many readers wait for the metadata store",
                "try again in a moment");
  if (!idle_.empty()) {
    // The one used last: its cache is warm, and the others need never be opened.
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }
  ++open_;
  lock.unlock();
  auto connection = Connection::open(options_.path, Connection::Mode::kRead, options_.busy_time);
  if (!connection) {
    lock.lock();
    --open_;
    came_back_.notify_one();
  }
  return connection;
}

void ReaderPool::give_back(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(connection));
  came_back_.notify_one();
}

Status ReaderPool::read(const std::function<Status(Reader&)>& work) {
  SLIPWAY_ASSIGN(std::unique_ptr<Connection> connection, take());
  Status result;
  {
    const Snapshot snapshot(*connection);
    if (auto begun = connection->execute("BEGIN"); !begun) {
      result = fail(begun.error());
    } else {
      SnapshotReader reader(*connection);
      result = work(reader);
    }
  }
  give_back(std::move(connection));
  return result;
}

}  // namespace slipway::store

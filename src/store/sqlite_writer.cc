#include "store/sqlite_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

#include "base/failpoint.h"
#include "base/fd.h"
#include "base/log.h"

namespace slipway::store {
namespace {

constexpr int kCheckpointPages = 2000;  // 8 MiB of log
constexpr auto kIdleTime = std::chrono::milliseconds(500);
constexpr auto kProbeTime = std::chrono::milliseconds(500);
// What must be free before writing goes on: room for a few transactions, so that it does not fail again at
// once.
constexpr off_t kProbeBytes = 4 << 20;

class TransactionWriter final : public Writer {
 public:
  TransactionWriter(Connection& connection, std::vector<std::function<void()>>& actions)
      : connection_(connection), actions_(actions) {}
  Status query(std::string_view sql, const Values& values,
               const std::function<void(const Row&)>& on_row) override {
    return connection_.query(sql, values, on_row);
  }
  Result<int64_t> execute(std::string_view sql, const Values& values) override {
    return connection_.execute(sql, values);
  }
  void after_commit(std::function<void()> action) override { actions_.push_back(std::move(action)); }

 private:
  Connection& connection_;
  std::vector<std::function<void()>>& actions_;
};

bool has_room(const std::string& store_path) {
  const std::string path = store_path + "-probe";
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return false;
  const bool room = ::posix_fallocate(fd.get(), 0, kProbeBytes) == 0;
  ::unlink(path.c_str());
  return room;
}

}  // namespace

// One call of write(). Lives on the caller's stack; the caller waits until `done`.
struct WriterThread::Task {
  std::function<Status(Writer&)> work;
  std::vector<std::function<void()>> actions;
  Status result;
  std::mutex mutex;
  std::condition_variable cv;
  bool done = false;
};

WriterThread::WriterThread(std::unique_ptr<Connection> connection, const SqliteOptions& options)
    : options_(options), connection_(std::move(connection)), thread_([this] { run(); }) {}

WriterThread::~WriterThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_came_.notify_all();
  thread_.join();
  if (condition_ == Condition::kFailed) connection_->forbid_checkpoint_on_close();
}

Status WriterThread::condition_locked() const {
  switch (condition_) {
    case Condition::kGood: break;
    case Condition::kFull:
      return fail(ErrorCode::kStorageFull,
                  "the disk under the metadata store is full: nothing can be written",
                  "free some space on the server's disk; writing goes on by itself then");
    case Condition::kFailed:
      return fail(ErrorCode::kUnavailable,
                  "the disk under the metadata store failed to keep a write: nothing is written any more",
                  "look at the server's disk, then start the server again");
  }
  return {};
}

Status WriterThread::write(std::function<Status(Writer&)> work) {
  if (std::this_thread::get_id() == thread_.get_id())
    abort_because("a write was asked for on the writer thread: it would wait for itself");
  Task task;
  task.work = std::move(work);
  {
    const std::lock_guard lock(mutex_);
    SLIPWAY_TRY(condition_locked());
    if (stopping_) return fail(ErrorCode::kUnavailable, "the server is stopping", "try again once it runs");
    if (queue_.size() >= options_.queue_limit)
      return fail(ErrorCode::kUnavailable, "too many writes wait for the metadata store",
                  "try again in a moment");
    queue_.push_back(&task);
  }
  work_came_.notify_one();
  std::unique_lock waiting(task.mutex);
  if (!task.cv.wait_for(waiting, options_.write_time, [&] { return task.done; })) {
    waiting.unlock();
    {
      const std::lock_guard lock(mutex_);
      if (std::erase(queue_, &task) != 0)
        return fail(ErrorCode::kUnavailable, "the metadata store did not get to this write in time",
                    "try again");
    }
    // Its transaction has begun: what becomes of it must be known before the caller is answered.
    waiting.lock();
    task.cv.wait(waiting, [&] { return task.done; });
  }
  return std::move(task.result);
}

Status WriterThread::condition() const {
  const std::lock_guard lock(mutex_);
  return condition_locked();
}

bool WriterThread::writable(std::string* why) const {
  const Status good = condition();
  if (!good && why != nullptr) *why = good.error().message;
  return good.has_value();
}

std::vector<WriterThread::Task*> WriterThread::take_group() {
  const size_t count = std::min(queue_.size(), options_.group_limit);
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Task*> group(queue_.begin(), end);
  queue_.erase(queue_.begin(), end);
  return group;
}

void WriterThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    const bool full = condition_ == Condition::kFull;
    const auto something = [this] { return stopping_ || !queue_.empty(); };
    const bool came = work_came_.wait_for(lock, full ? kProbeTime : kIdleTime, something);
    if (stopping_ && queue_.empty()) return;
    const std::vector<Task*> group = take_group();
    lock.unlock();
    if (!group.empty()) commit_group(group);
    if (full) probe_for_space();
    if (!came && !full) checkpoint_when_idle();
    lock.lock();
  }
}

Status WriterThread::run_in_savepoint(Task& task) {
  if (auto opened = connection_->execute("SAVEPOINT one"); !opened) return fail(opened.error());
  try {
    TransactionWriter writer(*connection_, task.actions);
    task.result = task.work(writer);
  } catch (const std::exception& thrown) {
    task.result = fail(Error{ErrorCode::kInternal, "a write failed inside the server",
                             "the server's log has the detail", thrown.what()});
  }
  // On a full disk, SQLite may have given up the whole transaction: then there is no savepoint to go back to.
  if (!connection_->in_transaction() || connection_->fault() != StorageFault::kNone)
    return task.result ? fail(ErrorCode::kInternal, "the metadata store gave a transaction up")
                       : Status(fail(task.result.error()));
  if (!task.result) {
    if (auto undone = connection_->execute("ROLLBACK TO one"); !undone) return fail(undone.error());
  }
  if (auto closed = connection_->execute("RELEASE one"); !closed) return fail(closed.error());
  return {};
}

// An error means that the transaction as a whole is lost, and with it every closure in it.
Status WriterThread::run_tasks(const std::vector<Task*>& group) {
  bool any = false;
  connection_->clear_fault();
  if (auto begun = connection_->execute("BEGIN IMMEDIATE"); !begun) return fail(begun.error());
  for (Task* task : group) {
    SLIPWAY_TRY(run_in_savepoint(*task));
    any = any || task->result.has_value();
  }
  SLIPWAY_FAILPOINT("store.before_commit");
  if (auto ended = connection_->execute(any ? "COMMIT" : "ROLLBACK"); !ended) return fail(ended.error());
  SLIPWAY_FAILPOINT("store.after_commit");
  return {};
}

void WriterThread::commit_group(const std::vector<Task*>& group) {
  Status outcome = condition();  // which may have changed since these were queued
  if (outcome) outcome = run_tasks(group);
  if (!outcome) {
    note_fault();
    connection_->roll_back();
    log_error("store.transaction_lost", {{"writes", group.size()}, {"error", outcome.error()}});
  }
  for (Task* task : group) {
    if (!outcome) task->result = outcome;
    if (!task->result) continue;
    for (const std::function<void()>& action : task->actions) action();
  }
  answer(group);
  if (outcome) checkpoint_by_size();
}

void WriterThread::answer(const std::vector<Task*>& group) {
  for (Task* task : group) {
    // Under the lock: the task is gone as soon as its caller has seen `done`.
    const std::lock_guard lock(task->mutex);
    task->done = true;
    task->cv.notify_one();
  }
}

void WriterThread::note_fault() {
  const StorageFault fault = connection_->fault();
  if (fault == StorageFault::kNone) return;
  const std::lock_guard lock(mutex_);
  if (condition_ == Condition::kFailed) return;
  condition_ = fault == StorageFault::kFull ? Condition::kFull : Condition::kFailed;
  log_error(fault == StorageFault::kFull ? "store.disk_full" : "store.disk_failed",
            {{"path", options_.path}});
}

void WriterThread::checkpoint_by_size() {
  // A log that has become shorter was begun anew after it had been moved whole. With a reader in the way it
  // goes on growing, and the next try waits for as much again.
  if (connection_->wal_pages() < moved_pages_) moved_pages_ = 0;
  if (connection_->wal_pages() - moved_pages_ < kCheckpointPages) return;
  checkpoint();
  moved_pages_ = connection_->wal_pages();
}

void WriterThread::checkpoint_when_idle() {
  if (connection_->wal_pages() == moved_pages_ || !writable(nullptr)) return;
  if (checkpoint()) moved_pages_ = connection_->wal_pages();
}

bool WriterThread::checkpoint() {
  connection_->clear_fault();
  const Result<bool> moved = connection_->checkpoint();
  if (moved) return *moved;
  log_error("store.checkpoint_failed", {{"error", moved.error()}});
  // A full disk stops the move, not yet the log; a failed sync stops everything.
  if (connection_->fault() == StorageFault::kFailed) note_fault();
  return true;
}

void WriterThread::probe_for_space() {
  if (!has_room(options_.path)) return;
  const std::lock_guard lock(mutex_);
  if (condition_ != Condition::kFull) return;
  condition_ = Condition::kGood;
  log_info("store.disk_has_room", {{"path", options_.path}});
}

}  // namespace slipway::store

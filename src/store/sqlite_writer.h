// The writer thread: it owns the only connection that writes, and alone checkpoints.
//
// Invariants
//   1. A transaction holds the closures that waited when it began, each inside its savepoint. A caller is
//   answered
//      after the COMMIT that carries its closure has returned, never before.
//   2. A failed sync or write ends all writing for the life of the process: the kernel may have dropped the
//   pages,
//      so a second sync that succeeds would say nothing.
//   3. A full disk refuses writes at once and is probed until there is room again.
//   4. Actions after the commit run in the order of their closures, before any of the callers is answered.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/database.h"
#include "store/sqlite_connection.h"

namespace slipway::store {

class WriterThread {
 public:
  WriterThread(std::unique_ptr<Connection> connection, const SqliteOptions& options);
  // Ends what is queued, then stops.
  ~WriterThread();

  Status write(std::function<Status(Writer&)> work);
  bool writable(std::string* why) const;

 private:
  struct Task;
  enum class Condition { kGood, kFull, kFailed };

  void run();
  std::vector<Task*> take_group();
  void commit_group(const std::vector<Task*>& group);
  Status run_in_savepoint(Task& task);
  Status run_tasks(const std::vector<Task*>& group);
  void answer(const std::vector<Task*>& group);
  void note_fault();
  bool checkpoint();  // false: a reader was in the way
  void checkpoint_by_size();
  void checkpoint_when_idle();
  void probe_for_space();
  Status condition() const;
  Status condition_locked() const;  // with mutex_ held

  const SqliteOptions options_;
  std::unique_ptr<Connection> connection_;
  int moved_pages_ = 0;  // of the log, at the last checkpoint

  mutable std::mutex mutex_;
  std::condition_variable work_came_;
  std::deque<Task*> queue_;  // of callers that wait in write()
  Condition condition_ = Condition::kGood;
  bool stopping_ = false;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace slipway::store

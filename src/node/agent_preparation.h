// What happens to an attempt before its supervisor starts: log streams of the preparation, and notes for the
// run's time line. The agent itself writes them to the attempt's journal and ships them as they come; the
// supervisor goes on in the same journal.
//
// Invariants
//   1. The journal has one writer: records are written under the attempt's lock, which is taken with the
//   first
//      of them and given back by `close`, before a supervisor is started. Where an earlier agent's supervisor
//      holds it, nothing is written: that attempt has begun.
//   2. Streams are named below system_logs/, where no job's log can be, and notes are phases "preparing":
//      nothing else stands in a journal before its phase "starting" (preparation_in_journal).
//   3. An agent that was killed leaves a journal that the next one goes on with: each stream at the offset it
//      had reached.
//   4. An attempt that prepares nothing worth a word costs nothing: no lock, no thread, no file.
//
// Thread-safe but for `close`.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "node/agent_shipping.h"
#include "node/agent_signals.h"
#include "node/supervisor_feed.h"

namespace slipway::node {

constexpr std::string_view kEnvironmentLog = "system_logs/environment.txt";
constexpr std::string_view kDataLog = "system_logs/data.txt";

class PreparationLog {
 public:
  // All streams together; what comes after is dropped with a mark.
  static constexpr uint64_t kQuota = 16 << 20;

  // `folder`: the attempt's. All outlive it; nobody else uses the shipper until `close`.
  PreparationLog(std::filesystem::path folder, JournalShipper& shipper, AttemptSignals& signals);
  ~PreparationLog();
  PreparationLog(const PreparationLog&) = delete;
  PreparationLog& operator=(const PreparationLog&) = delete;

  // A line of one of the streams; its end is added here.
  void line(std::string_view stream, std::string_view text);
  // An event of the run that changes no state: kind "environment" or "data", and a sentence. `report`: what
  // the run's record is to say about its environment.
  void note(std::string_view kind, std::string_view sentence, json::object report = {});

  // Writes no more, gives the lock back and leaves the shipper to the caller. Repeating does nothing.
  void close();
  // After `close`: waits until the server has all of it, or the attempt is interrupted.
  void deliver();

 private:
  bool open();   // the mutex is held; false: nothing can be written
  void flush();  // the mutex is held
  void ship();

  const std::filesystem::path folder_;
  JournalShipper& shipper_;
  AttemptSignals& signals_;
  const SystemClock clock_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool tried_ = false;
  bool closed_ = false;
  bool unshipped_ = false;
  std::optional<FileLock> lock_;
  std::optional<JournalFeed> feed_;
  std::thread shipping_;
};

// What a journal says about how far its attempt has come.
struct PreparationInJournal {
  bool begun = false;  // something stands there that only a supervisor or the end of an attempt writes
  bool empty = true;
  std::map<std::string, uint64_t> offsets;  // of the preparation's streams
};
Result<PreparationInJournal> preparation_in_journal(const std::filesystem::path& journal);

}  // namespace slipway::node

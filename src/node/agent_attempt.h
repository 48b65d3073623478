// The life of one attempt on this node, on a thread of its own: claim, prepare, start, ship, keep, finish,
// remove.
//
// Invariants
//   1. The intention (spec.json) is written before a supervisor is started; one process set at most
//      comes of it, since supervisors take the folder's lock and refuse a journal that has ended.
//   2. All that the server learns of how the job ended comes from the journal. Where no supervisor
//      could write the end, end_orphans or the agent writes it there, under the lock.
//   3. The folder is removed when the server has acknowledged the end or has fenced the attempt, and no
//      supervisor lives. Until then every step may be cut off by kill -9 and is taken up again by the
//      next agent (agent_attach.h).
//   4. A server that is away stops nothing: each message is repeated until it is answered.
//   5. `stop` leaves the supervisor alone.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/result.h"
#include "launch/spec.h"
#include "node/agent_attach.h"
#include "node/agent_config.h"
#include "node/agent_inputs.h"
#include "node/agent_link.h"
#include "node/agent_output_data.h"
#include "node/agent_outputs.h"
#include "node/agent_prepare.h"
#include "node/agent_running_outputs.h"
#include "node/agent_shipping.h"
#include "node/agent_signals.h"
#include "node/agent_snapshot.h"
#include "node/agent_spare.h"
#include "node/agent_supervisor.h"
#include "node/agent_watch.h"
#include "protocol/node.h"

namespace slipway::node {

struct AttemptTimes {
  Duration coalesce = std::chrono::milliseconds(3);        // after the first bytes, for what comes with them
  Duration largest_pause = std::chrono::milliseconds(40);  // between small batches of a chatty job
  Duration outputs_every = std::chrono::seconds(5);
  Duration outputs_settled = std::chrono::seconds(3);
  Duration kill_patience = std::chrono::seconds(5);  // with a supervisor that was told to kill
};

// What all attempts of an agent share; it outlives them.
struct AttemptSite {
  NodePaths paths;
  std::filesystem::path supervisor;  // the program
  AttemptTimes times;
  ServerLink& server;
  SnapshotPlacer& snapshots;
  InputPlacer& inputs;
  AttemptFolders& folders;
  JournalWatch& watch;
  std::counting_semaphore<>& preparations;  // how many prepare at a time
  std::counting_semaphore<>& uploads;       // how many keep outputs while their job runs
  bool private_mounts;                      // jobs can have copies of their own of shared folders
  std::atomic<bool>& environment_built;     // there may be more of them now than there is room for
  const std::atomic<bool>& ending;          // whoever lent this node wants it back, and ends what runs here
};

class HeldAttempt {
 public:
  // `on_done` is called once, from the attempt's thread, when nothing of it is left here, or after `stop`.
  HeldAttempt(const AttemptSite& site, AttemptKey key, Standing standing, std::function<void()> on_done);
  // Stops and joins.
  ~HeldAttempt();
  HeldAttempt(const HeldAttempt&) = delete;
  HeldAttempt& operator=(const HeldAttempt&) = delete;

  const AttemptKey& key() const { return key_; }
  bool done() const { return done_; }

  // From any thread; repeating is harmless.
  void cancel(const CancelOrder& order);
  void fence() { signals_.fence(); }  // kill it and remove all of it, without another word to the server
  void stop() { signals_.stop(); }
  void wake() { signals_.wake(); }

 private:
  // Gone: nothing is left to do. Fenced: it is to be ended and removed here, without the server.
  enum class Step { kGoOn, kFenced, kGone, kStopped };

  void live();
  Step begin();
  Step claim();
  Step prepare_and_start();
  Step start(const PreparedAttempt& prepared);
  Step give_up(const Error& why);
  Step close_unstarted(const CancelOrder& order);
  Step attach();
  void open_journal();
  void open_account();
  Step follow();
  void rest(size_t sent);
  void await_more();
  Step after_failed_round(const Error& error);
  Step look_after_supervisor();
  Step close_for_supervisor();
  Step keep(const std::function<Status()>& all, std::string& lost);
  Step finish();
  void remove_fenced();
  void remove();
  Step interruption() const { return signals_.stopped() ? Step::kStopped : Step::kFenced; }

  const AttemptSite& site_;
  const AttemptKey key_;
  const std::string name_;
  const std::filesystem::path folder_;
  const Standing standing_;
  const std::function<void()> on_done_;
  AttemptSignals signals_;
  SupervisorHandle supervisor_;
  std::atomic<bool> done_ = false;

  // Of the attempt's thread alone.
  std::optional<AttemptOrder> order_;
  std::vector<UniqueFd> ports_;  // held for the processes, as long as the attempt is
  JournalWatch::Watched watched_;
  std::unique_ptr<OutputKeeper> keeper_;
  std::unique_ptr<DataOutputs> data_outputs_;
  std::unique_ptr<RunningOutputs> running_outputs_;
  std::optional<JournalShipper> shipper_;
  bool seen_dead_ = false;  // the supervisor: its last words are looked for once more
  bool closed_ = false;     // the journal was closed for it
  std::optional<Monotonic> kill_by_;
  Duration small_pause_;  // before the next small batch
  Backoff backoff_;

  std::thread thread_;
};

}  // namespace slipway::node

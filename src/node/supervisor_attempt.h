// One attempt from its start to its exit record: the loop of the supervisor.
//
// 1. The intention is in the journal before a process exists, the start right after, the end last.
// 2. One thread, one poll over a few descriptors; nothing in the loop waits but the poll and the disk.
// 3. The attempt is over when its processes have been reaped and no descendant is left: as subreaper this
// process
//    inherits every one that its parent leaves, so "no child" means "nobody".
// 4. Of several processes the first that fails ends the others, and says how the attempt ended.
// 5. Only then are pipes, socket and log files read to their end: nothing that was written is missed.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "launch/spec.h"
#include "node/process_group.h"
#include "node/supervisor_ending.h"
#include "node/supervisor_feed.h"
#include "node/supervisor_logs.h"
#include "node/supervisor_mounts.h"
#include "node/supervisor_process.h"
#include "node/supervisor_rank.h"
#include "node/supervisor_resources.h"
#include "node/supervisor_socket.h"
#include "protocol/node.h"

namespace slipway::node {

class Attempt {
 public:
  // All outlive it. `mounts` may be null: nothing is mounted.
  Attempt(std::filesystem::path folder, const launch::SupervisorSpec& spec, JournalFeed& feed,
          AttemptMounts* mounts, const Clock& clock)
      : folder_(std::move(folder)), spec_(spec), feed_(feed), mounts_(mounts), clock_(clock) {}

  // How it ended; the exit record is left to the caller. Takes over signals and children of this process.
  ExitStatus run();

 private:
  void take_over_process();
  void watch_folders();
  void prepare_work();
  Status write_files() const;
  Result<std::vector<Rank>> open_pipes();
  void on_told();
  void told_of_end(std::string_view line);
  std::string out_of_memory() const;
  std::string described(const Rank& rank) const;
  std::string who_failed(const Rank& rank, const std::string& reason) const;
  Status start_ranks();
  bool start(ExitStatus& status);
  void record_phase(std::string_view phase);

  void loop();
  int wait_milliseconds(Monotonic now) const;
  void on_signal();
  void on_inotify();
  void on_mounts();
  void check_cancel();
  void poll_all();
  void read_ranks();
  void read_logs(Monotonic now);
  void end_if_due(Monotonic now);
  void do_timed(Monotonic now);
  void reap();
  void rank_ended(Rank& rank);
  void announce(std::string_view phase, const std::string& detail);
  bool over(Monotonic now) const;
  void drain();
  void describe_end(ExitStatus& status);

  std::filesystem::path folder_;
  const launch::SupervisorSpec& spec_;
  JournalFeed& feed_;
  AttemptMounts* const mounts_;
  const Clock& clock_;

  UniqueFd signals_;
  UniqueFd inotify_;
  int folder_watch_ = -1;
  std::unique_ptr<ProcessGroup> group_;
  std::optional<InJobSocket> socket_;
  std::optional<LogFollower> logs_;
  std::optional<ResourceSampler> sampler_;
  std::vector<Rank> ranks_;  // those the supervisor started, in the order of the spec, then the others
  UniqueFd told_;            // where those others are told to have ended (launch::kMpiEnded)
  std::string told_text_;
  std::vector<pollfd> polled_;
  Ending ending_;

  std::optional<size_t> first_failed_;  // of the ranks: before anything asked them to end
  std::optional<size_t> first_told_;    // of those that others start: the first that failed by itself
  bool no_children_ = false;
  std::optional<Monotonic> time_limit_;
  Monotonic next_sample_;
  Monotonic next_scan_;
  Monotonic next_cancel_check_ = Monotonic::max();
  Monotonic watch_at_ = Monotonic::max();
  Monotonic bound_at_ = Monotonic::max();
  Monotonic next_log_read_ = Monotonic::min();
};

}  // namespace slipway::node

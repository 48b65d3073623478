// One attempt from its start to its exit record: the loop of the supervisor.
//
// 1. The intention is in the journal before the process exists, the start right after, the end last.
// 2. One thread, one poll over six descriptors; nothing in the loop waits but the poll and the disk.
// 3. The attempt is over when its main process has been reaped and no descendant is left: as subreaper this
// process
//    inherits every one that its parent leaves, so "no child" means "nobody".
// 4. Only then are pipes, socket and log files read to their end: nothing that was written is missed.
#pragma once

#include <sys/types.h>

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "launch/spec.h"
#include "node/process_group.h"
#include "node/supervisor_ending.h"
#include "node/supervisor_feed.h"
#include "node/supervisor_logs.h"
#include "node/supervisor_mounts.h"
#include "node/supervisor_process.h"
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
  struct Output {
    UniqueFd fd;
    journal::Channel channel;
    std::unique_ptr<char[]> buffer;
    size_t size = 64 << 10;  // of the buffer
  };

  void take_over_process();
  void watch_folders();
  void prepare_work();
  Result<StartedProcess> start_in_its_place();
  bool start(ExitStatus& status);
  void record_phase(std::string_view phase);

  void loop();
  int wait_milliseconds(Monotonic now) const;
  void on_signal();
  void on_inotify();
  void on_mounts();
  void check_cancel();
  bool read_output(Output& output);
  void read_logs(Monotonic now);
  void end_if_due(Monotonic now);
  void do_timed(Monotonic now);
  void reap();
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
  std::array<Output, 2> outputs_;
  Ending ending_;

  pid_t main_ = -1;
  std::optional<int> main_status_;  // of waitpid
  Timestamp ended_;
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

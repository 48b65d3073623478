// The half of the supervisor's attempt that brings the processes to life.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "base/file.h"
#include "launch/mpi_variables.h"
#include "node/private_mounts.h"
#include "node/supervisor_attempt.h"

namespace slipway::node {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr Duration kFirstSample = 1s;  // short runs have one too
constexpr Duration kWatchAfter = 1s;
constexpr Duration kBoundAfter = 20ms;
constexpr Duration kLookEvery = 100ms;  // while there is no inotify

}  // namespace

// Signals meant for a terminal or a session do not end a supervisor: it is told by cancel.json alone.
void Attempt::take_over_process() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2})
    ::signal(signal, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  signals_ = UniqueFd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
}

void Attempt::prepare_work() {
  for (const char* name : {"outputs", "logs"}) ::mkdir((spec_.work + "/" + name).c_str(), 0755);
  auto socket = InJobSocket::open(spec_.socket, spec_.work, feed_);
  if (socket) {
    socket_.emplace(std::move(*socket));
  } else {
    feed_.dropped("(in-job messages)", 1, socket.error().message);
  }
  logs_.emplace(spec_.work, feed_);
}

Status Attempt::write_files() const {
  for (const auto& [path, content] : spec_.files) {
    ::mkdir(fs::path(path).parent_path().c_str(), 0700);
    SLIPWAY_TRY(replace_file(path, content));
  }
  return {};
}

Result<std::vector<Rank>> Attempt::open_pipes() {
  std::vector<Rank> ranks;
  if (!spec_.pipes.empty()) {
    const fs::path beside = fs::path(spec_.pipes.front().path).parent_path();
    SLIPWAY_ASSIGN(told_, make_fifo(beside / launch::kMpiEnded));
  }
  for (const launch::RankPipe& pipe : spec_.pipes) {
    SLIPWAY_ASSIGN(Rank rank, Rank::open_pipes(pipe, feed_));
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

// An error only when none was started. One that cannot be started after others were counts as failed.
Status Attempt::start_ranks() {
  SLIPWAY_TRY(write_files());
  SLIPWAY_ASSIGN(std::vector<Rank> others, open_pipes());
  if (!spec_.overlays.empty() || spec_.root) SLIPWAY_TRY(enter_private_mounts(spec_.overlays, spec_.root));
  for (const launch::ProcessSpec& process : spec_.processes) {
    auto started = start_process(spec_, process, group_->entrance());
    if (!started && ranks_.empty()) return fail(std::move(started).error());
    const bool quoted = spec_.process_count > 1;
    ranks_.emplace_back(process, started ? std::move(*started) : StartedProcess(), quoted, feed_);
    if (started) continue;
    ranks_.back().could_not_start(started.error(), clock_.now());
    first_failed_ = ranks_.size() - 1;
    ending_.ask(Ending::Cause::kRankFailed, "", spec_.grace, true, clock_.monotonic());
    return {};
  }
  std::ranges::move(others, std::back_inserter(ranks_));
  return {};
}

bool Attempt::start(ExitStatus& status) {
  group_ = make_process_group(spec_.mark, spec_.limits);
  prepare_work();

  const Status started = start_ranks();
  status.started = clock_.now();
  if (!started) {
    Rank none(spec_.processes.front(), {}, false, feed_);
    none.could_not_start(started.error(), status.started);
    none.describe(status);
    return false;
  }
  const Monotonic now = clock_.monotonic();
  if (spec_.timeout > Duration(0)) time_limit_ = now + spec_.timeout;
  next_sample_ = now + kFirstSample;
  next_cancel_check_ = now + kLookEvery;
  next_scan_ = now + kLookEvery;
  watch_at_ = now + kWatchAfter;
  bound_at_ = now + kBoundAfter;
  sampler_.emplace(*group_, spec_.gpu_indices, clock_);
  return true;
}

}  // namespace slipway::node

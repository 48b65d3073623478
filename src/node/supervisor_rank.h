// One rank as its supervisor sees it: the two pipes it prints into, the last lines that came through them,
// and, where the supervisor has started it, its process.
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "launch/spec.h"
#include "node/supervisor_feed.h"
#include "node/supervisor_process.h"
#include "protocol/node.h"

namespace slipway::node {

// A FIFO to read from, held open for writing too so that it never ends.
Result<UniqueFd> make_fifo(const std::string& path);

// Not thread-safe.
class Rank {
 public:
  static constexpr size_t kChannels = 2;

  // `feed` outlives it. `quoted`: its last lines are to be told when it fails.
  Rank(const launch::ProcessSpec& spec, StartedProcess process, bool quoted, JournalFeed& feed);
  // One that something else starts: makes the FIFOs, and holds them open so that they never end.
  static Result<Rank> open_pipes(const launch::RankPipe& spec, JournalFeed& feed);

  int number() const { return number_; }
  const std::string& name() const { return name_; }  // "rank 3", or what the spec says
  pid_t pid() const { return pid_; }                 // -1: not the supervisor's own
  int fd(size_t channel) const { return pipes_[channel].fd.get(); }
  // False: there was nothing to read.
  bool read(size_t channel);

  void ended(int wait_status, Timestamp now);
  // It never came to be.
  void could_not_start(const Error& error, Timestamp now);
  bool has_ended() const { return ended_at_.has_value(); }
  bool failed() const { return failed_; }
  // The code, the signal, when, and a sentence where it failed.
  void describe(ExitStatus& status) const;
  const std::string& printed_last() const { return tail_; }
  // "; it printed last: ..." for a reason; empty without any, or when it is not to be quoted.
  std::string last_words() const;

 private:
  struct Pipe {
    UniqueFd fd;
    journal::Channel channel = journal::Channel::kStdout;
    std::unique_ptr<char[]> buffer = {};
    size_t size = 64 << 10;  // of the buffer
  };

  Rank(int number, std::string name, std::string log, bool quoted, JournalFeed& feed);

  int number_;
  std::string name_;
  std::string log_;
  bool quoted_;
  JournalFeed* feed_;
  pid_t pid_ = -1;
  std::array<Pipe, kChannels> pipes_;
  std::string tail_;  // of what it printed, both channels as they came

  bool failed_ = false;
  int wait_status_ = 0;
  std::optional<ExitStatus> not_started_;
  std::optional<Timestamp> ended_at_;
};

}  // namespace slipway::node

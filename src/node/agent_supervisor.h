// The agent's hold on one supervisor: its folder's lock says whether it lives, its pid only how the child
// ended. Not thread-safe but for `ask_to_end`.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "node/agent_signals.h"

namespace slipway::node {

class SupervisorHandle {
 public:
  SupervisorHandle(std::filesystem::path program, std::filesystem::path folder)
      : program_(std::move(program)), folder_(std::move(folder)) {}

  // Starts one; spec.json is there. Whether it gets the lock is its own affair. `mount_order`: -1, or what
  // it is to find at its standard input.
  Status start(int mount_order);
  // True until the child has ended and nobody holds the lock.
  bool lives();
  // "signal 9 (Killed)"; empty when it was not this agent's child.
  const std::string& how_it_ended() const { return how_it_ended_; }

  // Writes cancel.json, which a supervisor also finds when it starts later. kNotFound before the folder is
  // there.
  Status ask_to_end(const CancelOrder& order) const;

  // False: it still lives after `longest`.
  bool await_end(Duration longest);
  // Kills it if need be, then every process it has left, and closes the journal with `why` unless it has
  // ended.
  Status end_by_force(const std::string& why);

 private:
  const std::filesystem::path program_;
  const std::filesystem::path folder_;
  pid_t child_ = 0;  // not reaped yet
  std::string how_it_ended_;
};

}  // namespace slipway::node

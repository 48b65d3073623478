// One agent as a process of this machine, held by a pidfd: what is asked of it and signalled is that process
// and no other, whatever becomes of its pid.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/ids.h"
#include "base/result.h"

namespace slipway::compute {

class AgentProcess {
 public:
  // Starts `program agent --home HOME --node NODE` in a session of its own and in the folder HOME, with stdin
  // from /dev/null, stdout and stderr appended to `log`, and default signals. All paths are absolute.
  static Result<AgentProcess> spawn(const std::filesystem::path& program, const std::filesystem::path& home,
                                    const NodeId& node, const std::filesystem::path& log);
  // The one that holds the node's lock; nullopt: nobody does, or its holder cannot be told at this moment.
  static std::optional<AgentProcess> adopt(const std::filesystem::path& lock);

  pid_t pid() const { return pid_; }
  // Readable for poll once it has ended.
  int pidfd() const { return pidfd_.get(); }
  bool ended() const;
  void signal(int number) const;
  // After its end: reaps it if it is this process's child, and says how it ended: "exit code 1", "signal 9".
  std::string reap();

 private:
  AgentProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_ = 0;
  UniqueFd pidfd_;
};

// The file this process was started from, for starting it again under its own name; "/proc/self/exe" when
// that file has been replaced or removed since.
std::filesystem::path own_program();

}  // namespace slipway::compute

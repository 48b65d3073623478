// The mounted data of one attempt, served by a process of its own.
//
// Invariants
//   1. The serving process is nobody's child: the agent's death does not touch it, and in the supervisor "no
//      child is left" still means that the job is over (supervisor_attempt.h).
//   2. It lives exactly as long as the supervisor. Each holds one end of a socket that nobody else has;
//      however the supervisor dies, the kernel closes its end, and the server goes.
//   3. Where it is permitted, supervisor, server and job see the mounts in a view of the machine of their
//      own: nothing of it is seen outside, and it is gone with the last of them. Elsewhere a guard
//      process unmounts when the server ends (data/mount/attach.h), and the agent looks after the folder
//      before it removes it.
//   4. The job starts when every mount answers; it is ended when content is found that is not its version's,
//      or when the server has died.
//   5. What to mount comes through standard input, which lies in memory: credentials are never on disk.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace slipway::node {

class AttemptMounts {
 public:
  // Reads the order from `order_fd`, starts the server and waits until all is mounted. Call before there is
  // any other process or thread: this one enters its own view of the machine. The errors are for the run.
  static Result<std::unique_ptr<AttemptMounts>> start(int order_fd);

  // Readable when `receive` has something to say.
  int fd() const { return socket_.get(); }
  // Why the job must end, once there is a reason.
  std::optional<std::string> receive();

 private:
  explicit AttemptMounts(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

}  // namespace slipway::node

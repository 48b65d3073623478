#include "compute/engines/local/agent_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>

#include "base/file.h"
#include "base/subprocess.h"

namespace slipway::compute {

namespace fs = std::filesystem;

namespace {

// glibc 2.36 declares its own wrappers without C linkage, so that C++ cannot call them.
UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace

Result<AgentProcess> AgentProcess::spawn(const fs::path& program, const fs::path& home, const NodeId& node,
                                         const fs::path& log) {
  const UniqueFd out(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!out) return fail(errno_error(errno, fmt::format("open {}", log.string())));
  // In a folder of ours, so that the one the server was started in can be removed or unmounted.
  SLIPWAY_ASSIGN(
      const pid_t pid,
      spawn_program({.program = program,
                     .arguments = {"slipway", "agent", "--home", home.string(), "--node", node.str()},
                     .environment = environment_list(own_environment()),
                     .folder = home,
                     .out = out.get(),
                     .err = out.get(),
                     .own_session = true}));
  // Not reaped yet, so the pid is still this child's.
  UniqueFd pidfd = open_pidfd(pid);
  if (!pidfd) {
    const Error error = errno_error(errno, fmt::format("watch the agent of node {}", node));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return fail(error);
  }
  return AgentProcess(pid, std::move(pidfd));
}

std::optional<AgentProcess> AgentProcess::adopt(const fs::path& lock) {
  const auto before = FileLock::holder(lock);
  if (!before) return std::nullopt;
  UniqueFd pidfd = open_pidfd(before->pid);
  // The pid may have changed hands between the two calls; the pidfd cannot any more.
  if (!pidfd || FileLock::holder(lock) != before) return std::nullopt;
  return AgentProcess(before->pid, std::move(pidfd));
}

bool AgentProcess::ended() const {
  pollfd poll_fd{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&poll_fd, 1, 0) > 0;
}

void AgentProcess::signal(int number) const {
  ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

std::string AgentProcess::reap() {
  siginfo_t info{};
  // Only a child of this process can be waited for: an agent of an earlier server is not one.
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG) != 0)
    return "it was started by an earlier server";
  if (info.si_code == CLD_EXITED) return fmt::format("exit code {}", info.si_status);
  return fmt::format("signal {}", info.si_status);
}

fs::path own_program() {
  fs::path self = "/proc/self/exe";
  std::error_code failed;
  fs::path file = fs::read_symlink(self, failed);
  struct stat running{};
  struct stat on_disk{};
  if (failed || ::stat(self.c_str(), &running) != 0 || ::stat(file.c_str(), &on_disk) != 0) return self;
  return running.st_dev == on_disk.st_dev && running.st_ino == on_disk.st_ino ? file : self;
}

}  // namespace slipway::compute

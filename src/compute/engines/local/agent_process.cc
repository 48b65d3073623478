#include "compute/engines/local/agent_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>

#include "base/file.h"

namespace slipway::compute {

namespace fs = std::filesystem;

namespace {

// glibc 2.36 declares its own wrappers without C linkage, so that C++ cannot call them.
UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

// What posix_spawn is told, with its clean-up.
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void start_in_own_session_with_default_signals() {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                                POSIX_SPAWN_SETSIGDEF));
  }

  // In a folder of ours, so that the one the server was started in can be removed or unmounted.
  void start_in(const fs::path& folder) { ::posix_spawn_file_actions_addchdir_np(&files_, folder.c_str()); }

  void open_streams(const fs::path& log) {
    ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files_, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                       0600);
    ::posix_spawn_file_actions_adddup2(&files_, STDOUT_FILENO, STDERR_FILENO);
    // Nothing of the server's goes along: a listening socket in an agent would keep the next server from its
    // port.
    ::posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1);
  }

  Result<pid_t> run(const fs::path& program, char* const* arguments) {
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, program.c_str(), &files_, &attributes_, arguments, environ);
    if (error != 0) return fail(errno_error(error, fmt::format("start {}", program.string())));
    return pid;
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

}  // namespace

Result<AgentProcess> AgentProcess::spawn(const fs::path& program, const fs::path& home, const NodeId& node,
                                         const fs::path& log) {
  SpawnPlan plan;
  plan.start_in_own_session_with_default_signals();
  plan.open_streams(log);
  plan.start_in(home);
  std::array<std::string, 6> words{"slipway", "agent", "--home", home.string(), "--node", node.str()};
  std::array<char*, 7> arguments{};
  for (size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  SLIPWAY_ASSIGN(const pid_t pid, plan.run(program, arguments.data()));
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
  const fs::path self = "/proc/self/exe";
  std::error_code failed;
  const fs::path file = fs::read_symlink(self, failed);
  struct stat running{};
  struct stat on_disk{};
  if (failed || ::stat(self.c_str(), &running) != 0 || ::stat(file.c_str(), &on_disk) != 0) return self;
  return running.st_dev == on_disk.st_dev && running.st_ino == on_disk.st_ino ? file : self;
}

}  // namespace slipway::compute

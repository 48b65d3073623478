#include "node/agent_spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace slipway::node {
namespace {

// The rest of the agent's environment is nobody's business below it.
constexpr const char* kPassedOn[] = {
    "PATH",
    "HOME",
    "LANG",
    "USER",
    "TMPDIR",
#ifdef SLIPWAY_WITH_FAILPOINTS
    "SLIPWAY_FAILPOINTS",
    "SLIPWAY_FAILPOINT_RECORD",
    "ASAN_OPTIONS",
    "TSAN_OPTIONS",
#endif
};

std::vector<std::string> supervisor_environment() {
  std::vector<std::string> environment;
  for (const char* name : kPassedOn) {
    if (const char* value = std::getenv(name); value != nullptr)
      environment.push_back(fmt::format("{}={}", name, value));
  }
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The two objects of posix_spawn, released together.
struct SpawnPlan {
  SpawnPlan() {
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_init(&files);
  }
  ~SpawnPlan() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_t files{};
};

}  // namespace

Result<pid_t> spawn_supervisor(const std::filesystem::path& program, const std::filesystem::path& folder) {
  SpawnPlan plan;
  ::posix_spawnattr_setflags(&plan.attributes, static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                                                  POSIX_SPAWN_SETSIGMASK));
  sigset_t all;
  sigset_t none;
  ::sigfillset(&all);
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&plan.attributes, &all);
  ::posix_spawnattr_setsigmask(&plan.attributes, &none);

  ::posix_spawn_file_actions_addopen(&plan.files, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&plan.files, 0, 1);
  ::posix_spawn_file_actions_addclosefrom_np(&plan.files, 3);

  std::vector<std::string> arguments{"slipway", "supervise", folder.string()};
  std::vector<std::string> environment = supervisor_environment();
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &plan.files, &plan.attributes,
                                  pointers(arguments).data(), pointers(environment).data());
  if (error != 0) return fail(errno_error(error, fmt::format("start the supervisor {}", program.string())));
  return pid;
}

std::optional<int> try_reap(pid_t pid) {
  int status = 0;
  const pid_t reaped = ::waitpid(pid, &status, WNOHANG);
  if (reaped == 0 || (reaped < 0 && errno == EINTR)) return std::nullopt;
  return reaped < 0 ? 0 : status;
}

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace slipway::node

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/fd.h"
#include "launch/mpi_variables.h"
#include "node/mpi.h"
#include "node/mpi_channel.h"

namespace slipway::node {
namespace {

// The supervisor holds the other end open: this never waits.
Status redirect(int target, const std::string& fifo) {
  const UniqueFd fd(::open(fifo.c_str(), O_WRONLY | O_NONBLOCK));
  if (!fd) return fail(errno_error(errno, fmt::format("open {}", fifo)));
  // The job writes as to any pipe: it waits when the reader is slow.
  ::fcntl(fd.get(), F_SETFL, 0);
  if (::dup2(fd.get(), target) < 0) return fail(errno_error(errno, "redirect the rank's output"));
  return {};
}

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? "" : value;
}

// Gives the code to exit with, as shells have it.
int complain(std::string_view part, const Error& error) {
  std::fputs(
      fmt::format("slipway {}: {}{}{}\n", part, error.message, error.next.empty() ? "" : "; ", error.next)
          .c_str(),
      stderr);
  return error.code == ErrorCode::kNotFound ? 127 : 126;
}

// What scripts for other launchers look for.
void name_rank(const std::string& rank) {
  const std::pair<const char*, std::string> pairs[] = {
      {"RANK", rank},
      {"SLIPWAY_RANK", rank},
      {"LOCAL_RANK", variable("OMPI_COMM_WORLD_LOCAL_RANK")},
      {"SLIPWAY_LOCAL_RANK", variable("OMPI_COMM_WORLD_LOCAL_RANK")},
      {"WORLD_SIZE", variable("OMPI_COMM_WORLD_SIZE")},
      {"SLIPWAY_PROCESS_COUNT", variable("OMPI_COMM_WORLD_SIZE")},
      {"LOCAL_WORLD_SIZE", variable("OMPI_COMM_WORLD_LOCAL_SIZE")},
      {"NODE_RANK", variable("SLIPWAY_NODE_RANK")},
  };
  for (const auto& [name, value] : pairs)
    if (!value.empty()) ::setenv(name, value.c_str(), 1);
}

// `signals`: those that the rank is not to hear, as this process had found it. One that cannot be started
// says so and ends with the code that is usual for it.
pid_t start_rank(const std::vector<std::string>& command, const sigset_t& signals) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv.front(), argv.data());
  const int error = errno;
  ::_exit(complain("mpi-rank",
                   {.code = error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
                    .message = fmt::format("cannot start '{}': {}", command.front(), std::strerror(error)),
                    .next = "",
                    .detail = ""}));
}

struct RankEnd {
  int status = 0;
  bool told_to = false;
};

// mpirun and the supervisor send their signals to all of a rank's processes: here they are only noted. All of
// them are blocked, so that none is lost and none ends this process before the rank.
RankEnd await_rank(pid_t child) {
  sigset_t heard;
  ::sigemptyset(&heard);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::sigaddset(&heard, signal);
  RankEnd end;
  while (true) {
    const int signal = ::sigwaitinfo(&heard, nullptr);
    if (signal == SIGCHLD && ::waitpid(child, &end.status, WNOHANG) == child) return end;
    end.told_to = end.told_to || (signal > 0 && signal != SIGCHLD);
  }
}

// The supervisor holds the other end open; without it there is nobody to tell.
void report(const std::string& folder, const std::string& rank, int status) {
  const UniqueFd fd(
      ::open(fmt::format("{}/{}", folder, launch::kMpiEnded).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  const std::string line = fmt::format("{} {}\n", rank, status);
  if (fd) (void)!::write(fd.get(), line.data(), line.size());
}

// As the rank ended, and without a second core file.
void end_by(int signal) {
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(signal, SIG_DFL);
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
}

}  // namespace

Result<int> see_rank_through(const std::vector<std::string>& command) {
  const std::string rank = variable("OMPI_COMM_WORLD_RANK");
  const std::string folder = take_variable(launch::kMpiFolder);
  const std::string work = take_variable(launch::kMpiWork);
  for (const std::string_view name : {launch::kMpiSecret, launch::kMpiPeers, launch::kMpiListen})
    take_variable(name);
  if (command.empty() || rank.empty() || folder.empty())
    return fail(ErrorCode::kInvalidArgument, "this is not a rank that mpirun has started",
                "the launcher 'mpi' calls this command");
  SLIPWAY_TRY(redirect(STDOUT_FILENO, fmt::format("{}/{}.out", folder, rank)));
  SLIPWAY_TRY(redirect(STDERR_FILENO, fmt::format("{}/{}.err", folder, rank)));
  if (::chdir(work.c_str()) != 0) return fail(errno_error(errno, fmt::format("go to {}", work)));
  name_rank(rank);
  ::signal(SIGCHLD, SIG_DFL);  // ignored by whoever started this, it would never come
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = start_rank(command, before);
  if (child < 0) return fail(errno_error(errno, fmt::format("start '{}'", command.front())));
  const RankEnd end = await_rank(child);
  if (end.status != 0 && !end.told_to) report(folder, rank, end.status);
  if (WIFSIGNALED(end.status)) end_by(WTERMSIG(end.status));
  return WIFEXITED(end.status) ? WEXITSTATUS(end.status) : 1;
}

std::optional<int> play_mpi_part(const std::vector<std::string>& words) {
  const std::string part = words.empty() ? "" : words.front();
  if (part != "mpi-start" && part != "mpi-node" && part != "mpi-rank") return std::nullopt;
  std::vector<std::string> rest(words.begin() + 1, words.end());
  if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
  Result<int> code = 0;
  if (part == "mpi-start") {
    code = start_on_node(rest);
  } else if (part == "mpi-node") {
    code = wait_for_mpirun();
  } else {
    code = see_rank_through(rest);
  }
  return code ? *code : complain(part, code.error());
}

}  // namespace slipway::node

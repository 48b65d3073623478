#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
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

}  // namespace

Status become_rank(const std::vector<std::string>& command) {
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
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv.front(), argv.data());
  const int error = errno;
  return fail(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
              fmt::format("cannot start '{}': {}", command.front(), std::strerror(error)));
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
  } else if (const Status became = become_rank(rest); !became) {
    code = fail(became.error());
  }
  if (code) return *code;
  const Error& error = code.error();
  std::fputs(
      fmt::format("slipway {}: {}{}{}\n", part, error.message, error.next.empty() ? "" : "; ", error.next)
          .c_str(),
      stderr);
  return error.code == ErrorCode::kNotFound ? 127 : 126;
}

}  // namespace slipway::node

#include "cli/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "base/file.h"
#include "cli/quantities.h"
#include "cli/session.h"

extern char** environ;

namespace slipway::cli {
namespace {

constexpr std::chrono::seconds kStartTime{60};
constexpr size_t kLogLines = 6;

// What the process had to say: its "error:" line and what follows it, or else its last lines.
std::string last_words(const std::filesystem::path& log, uint64_t begin) {
  const Result<std::string> text = read_file(log);
  if (!text || text->size() <= begin) return "it wrote nothing to " + log.string();
  std::string_view words = std::string_view(*text).substr(begin);
  while (words.ends_with('\n')) words.remove_suffix(1);
  size_t cut = words.size();
  for (size_t lines = 0; cut > 0 && lines < kLogLines; ++lines) {
    const size_t newline = words.rfind('\n', cut - 1);
    cut = newline == std::string_view::npos ? 0 : newline;
  }
  words.remove_prefix(cut);
  while (words.starts_with('\n')) words.remove_prefix(1);
  return fmt::format("the last lines of {}:\n{}", log.string(), words);
}

// The code whose exit code that is, so that a server that could not start makes `up` exit alike.
ErrorCode meaning_of(int status) {
  constexpr ErrorCode kCodes[] = {ErrorCode::kInvalidArgument, ErrorCode::kConflict,
                                  ErrorCode::kUnsupported,     ErrorCode::kUnavailable,
                                  ErrorCode::kStorageFull,     ErrorCode::kPermissionDenied};
  for (const ErrorCode code : kCodes)
    if (WIFEXITED(status) && exit_code(code) == WEXITSTATUS(status)) return code;
  return ErrorCode::kInternal;
}

class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

}  // namespace

Result<pid_t> start_in_background(const std::vector<std::string>& arguments,
                                  const std::filesystem::path& log) {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) return fail(errno_error(error.value(), "find this program"));
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  SpawnSettings spawn;
  ::posix_spawn_file_actions_addopen(&spawn.actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&spawn.actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&spawn.actions, 1, 2);
  ::posix_spawn_file_actions_addclosefrom_np(&spawn.actions, 3);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&spawn.attributes, &all);
  ::posix_spawnattr_setsigmask(&spawn.attributes, &none);
  ::posix_spawnattr_setflags(&spawn.attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int failed =
      ::posix_spawn(&pid, program.c_str(), &spawn.actions, &spawn.attributes, argv.data(), environ);
  if (failed != 0) return fail(errno_error(failed, "start " + program));
  return pid;
}

Result<std::string> wait_until_it_answers(pid_t pid, const std::filesystem::path& home,
                                          const std::filesystem::path& log, uint64_t log_begin) {
  const auto end = std::chrono::steady_clock::now() + kStartTime;
  while (std::chrono::steady_clock::now() < end) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) {
      const std::string how = WIFSIGNALED(status)
                                  ? fmt::format("was ended by {}", ::strsignal(WTERMSIG(status)))
                                  : fmt::format("ended with exit code {}", WEXITSTATUS(status));
      return fail(meaning_of(status), fmt::format("the server did not start: it {}", how),
                  last_words(log, log_begin));
    }
    const std::optional<ServerRecord> record = read_server_record(home);
    if (record && record->pid == pid) return record->public_url;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return fail(ErrorCode::kTimeout,
              fmt::format("the server (pid {}) does not answer after {} s", pid, kStartTime.count()),
              last_words(log, log_begin));
}

}  // namespace slipway::cli

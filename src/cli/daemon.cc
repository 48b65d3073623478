#include "cli/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/file.h"
#include "base/subprocess.h"
#include "cli/quantities.h"
#include "cli/session.h"

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

}  // namespace

Result<pid_t> start_in_background(const std::vector<std::string>& arguments,
                                  const std::filesystem::path& log) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(errno_error(error.value(), "find this program"));
  const UniqueFd out(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!out) return fail(errno_error(errno, fmt::format("open {}", log.string())));
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return spawn_program({.program = program,
                        .arguments = std::move(words),
                        .environment = environment_list(own_environment()),
                        .folder = {},
                        .out = out.get(),
                        .err = out.get(),
                        .own_session = true});
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

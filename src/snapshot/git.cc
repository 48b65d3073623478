#include "snapshot/git.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <vector>

#include "base/fd.h"

extern char** environ;

namespace slipway::snapshot {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

constexpr size_t kMaxOutput = 256 << 10;

// The caller's environment without what would point git elsewhere, and with what keeps it quiet.
std::vector<std::string> git_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!std::string_view(*variable).starts_with("GIT_")) variables.emplace_back(*variable);
  for (const char* ours : {"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "LC_ALL=C"})
    variables.emplace_back(ours);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  list.reserve(strings.size() + 1);
  for (std::string& string : strings) list.push_back(string.data());
  list.push_back(nullptr);
  return list;
}

// One run of git whose standard output is read. Killed and reaped on destruction at the latest.
class GitProcess {
 public:
  GitProcess(const std::string& folder, std::vector<std::string> arguments) {
    // A repository may name a program of its own as file system monitor; it is not run.
    std::vector<std::string> all{"git", "-C", folder, "-c", "core.fsmonitor=false"};
    all.insert(all.end(), std::make_move_iterator(arguments.begin()),
               std::make_move_iterator(arguments.end()));
    std::vector<std::string> environment = git_environment();
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    output_ = UniqueFd(ends[0]);
    const UniqueFd write_end(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
    ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (::posix_spawnp(&pid_, "git", &actions, nullptr, pointers(all).data(), pointers(environment).data()) !=
        0)
      pid_ = -1;
    ::posix_spawn_file_actions_destroy(&actions);
  }
  GitProcess(const GitProcess&) = delete;
  GitProcess& operator=(const GitProcess&) = delete;
  ~GitProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }

  // What it wrote, when it ended well in time.
  std::optional<std::string> output(Deadline deadline) {
    if (pid_ <= 0) return std::nullopt;
    std::string text;
    std::array<char, 16384> buffer;
    while (true) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      pollfd readable{.fd = output_.get(), .events = POLLIN, .revents = 0};
      const int ready = left.count() <= 0 ? 0 : ::poll(&readable, 1, static_cast<int>(left.count()));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return std::nullopt;
      const ssize_t count = ::read(output_.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return std::nullopt;
      if (count == 0) break;
      // More than this is only more of the same: the head of the output answers every question.
      if (text.size() < kMaxOutput) text.append(buffer.data(), static_cast<size_t>(count));
    }
    const int status = wait();
    pid_ = -1;
    return status == 0 ? std::optional(text) : std::nullopt;
  }

 private:
  int wait() const {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  pid_t pid_ = -1;
  UniqueFd output_;
};

// Calls `take` with each piece of a list whose pieces end with `end`.
template <class Take>
void for_each_piece(std::string_view text, char end, const Take& take) {
  while (!text.empty()) {
    const size_t size = std::min(text.find(end), text.size());
    take(text.substr(0, size));
    text.remove_prefix(std::min(size + 1, text.size()));
  }
}

std::string_view after(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string_view();
}

// `git status --porcelain=v2 --branch -z`
GitState parse_status(std::string_view text, std::string& upstream) {
  GitState state;
  for_each_piece(text, '\0', [&](std::string_view line) {
    if (!line.starts_with("# ")) {
      state.dirty = true;
    } else if (const auto commit = after(line, "# branch.oid "); !commit.empty()) {
      if (commit != "(initial)") state.commit = commit;
    } else if (const auto branch = after(line, "# branch.head "); !branch.empty()) {
      if (branch != "(detached)") state.branch = branch;
    } else if (const auto tracked = after(line, "# branch.upstream "); !tracked.empty()) {
      upstream = tracked;
    }
  });
  return state;
}

// `git config -z --get-regexp ^remote\..*\.url$`: "remote.origin.url\nhttps://..."
std::string choose_remote(std::string_view text, std::string_view upstream) {
  std::string first;
  std::string origin;
  std::string tracked;
  for_each_piece(text, '\0', [&](std::string_view line) {
    const size_t end = line.find('\n');
    if (end == std::string_view::npos) return;
    std::string_view name = after(line.substr(0, end), "remote.");
    name.remove_suffix(std::min(name.size(), std::string_view(".url").size()));
    const std::string url = without_credentials(line.substr(end + 1));
    if (first.empty()) first = url;
    if (name == "origin" && origin.empty()) origin = url;
    if (upstream.starts_with(std::string(name) + "/") && tracked.empty()) tracked = url;
  });
  if (!tracked.empty()) return tracked;
  return origin.empty() ? first : origin;
}

// When `git status` is too slow for us: where HEAD is, without a look at the files.
GitState read_head(const std::string& folder) {
  GitState state;
  GitProcess process(folder, {"rev-parse", "HEAD", "--abbrev-ref", "HEAD"});
  const auto text = process.output(std::chrono::steady_clock::now() + std::chrono::seconds(1));
  if (!text) return state;
  for_each_piece(*text, '\n', [&](std::string_view line) {
    if (state.commit.empty()) {
      state.commit = line;
    } else if (line != "HEAD") {
      state.branch = line;
    }
  });
  state.dirty = !state.commit.empty();
  return state;
}

}  // namespace

GitState read_git_state(const std::filesystem::path& folder, std::chrono::milliseconds limit) {
  const Deadline deadline = std::chrono::steady_clock::now() + limit;
  const std::string path = folder.string();
  // Both at once: starting a program is most of the cost.
  GitProcess status(path, {"--no-pager", "status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z",
                           "--untracked-files=normal", "--ignore-submodules=dirty", "--", "."});
  GitProcess remotes(path, {"config", "-z", "--get-regexp", "^remote\\..*\\.url$"});
  std::string upstream;
  const auto told = status.output(deadline);
  const bool too_slow = !told && std::chrono::steady_clock::now() >= deadline;
  GitState state = told ? parse_status(*told, upstream) : too_slow ? read_head(path) : GitState();
  if (state.commit.empty()) return {};
  if (const auto urls =
          remotes.output(std::max(deadline, std::chrono::steady_clock::now() + std::chrono::seconds(1))))
    state.remote = choose_remote(*urls, upstream);
  return state;
}

std::string without_credentials(std::string_view url) {
  const size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return std::string(url);
  const std::string_view scheme = url.substr(0, scheme_end + 3);
  std::string_view rest = url.substr(scheme.size());
  rest = rest.substr(0, rest.find_first_of("?#"));
  const size_t authority_end = std::min(rest.find('/'), rest.size());
  const size_t at = rest.substr(0, authority_end).rfind('@');
  if (at == std::string_view::npos) return std::string(scheme) + std::string(rest);
  const std::string_view user = rest.substr(0, rest.find_first_of(":@"));
  const bool keeps_user = scheme == "ssh://" && !user.empty();
  return std::string(scheme) + (keeps_user ? std::string(user) + "@" : "") + std::string(rest.substr(at + 1));
}

}  // namespace slipway::snapshot

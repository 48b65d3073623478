#include "serving/runtimes/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"

extern char** environ;

namespace slipway::serving {
namespace {

constexpr size_t kMaxOutput = 1 << 20;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

std::string find_program(const std::string& name) {
  if (name.contains('/')) return name;
  const char* given = std::getenv("PATH");
  std::string_view path = given == nullptr ? "/usr/local/bin:/usr/bin:/bin" : given;
  while (!path.empty()) {
    const size_t colon = path.find(':');
    std::string candidate = fmt::format("{}/{}", path.substr(0, colon), name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    path.remove_prefix(colon == std::string_view::npos ? path.size() : colon + 1);
  }
  return name;
}

struct Prepared {
  const char* program;
  char* const* argv;
  char* const* envp;
  const char* folder;
  int stdout_fd;
  int socket_fd;
  int report_fd;
  pid_t parent;
  rlim_t memory;
  int rules;
};

// Between fork and execve, in a process with threads: system calls alone.
[[noreturn]] void become(const Prepared& prepared) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != prepared.parent) ::_exit(127);
  ::setsid();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM}) ::signal(number, SIG_DFL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prepared.memory != 0) {
    const rlimit limit{.rlim_cur = prepared.memory, .rlim_max = prepared.memory};
    ::setrlimit(RLIMIT_DATA, &limit);
  }
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const bool placed =
      ::dup2(nothing, 0) == 0 && ::dup2(prepared.stdout_fd < 0 ? 2 : prepared.stdout_fd, 1) == 1 &&
      (prepared.socket_fd < 0 || prepared.socket_fd == 3 || ::dup2(prepared.socket_fd, 3) == 3) &&
      (*prepared.folder == '\0' || ::chdir(prepared.folder) == 0);
  if (placed && (prepared.rules < 0 || Confinement::enter(prepared.rules))) {
    if (prepared.socket_fd == 3) ::fcntl(3, F_SETFD, 0);
    // All others are opened with O_CLOEXEC; this is for those of libraries that are not.
    constexpr unsigned kCloseOnExec = 1U << 2;
    ::syscall(SYS_close_range, prepared.socket_fd < 0 ? 3U : 4U, ~0U, kCloseOnExec);
    ::execve(prepared.program, prepared.argv, prepared.envp);
  }
  const int failure = errno;
  (void)!::write(prepared.report_fd, &failure, sizeof failure);
  ::_exit(127);
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const ChildOptions& options) {
  const std::string program = find_program(options.argv.front());
  const std::vector<char*> argv = pointers(options.argv);
  const std::vector<char*> envp = pointers(options.environment);
  std::optional<Confinement> confinement;
  if (options.places) {
    SLIPWAY_ASSIGN(confinement, Confinement::to(*options.places));
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errno_error(errno, "make a pipe"));
  const UniqueFd report(ends[0]);
  // Never 3, which the child's socket takes.
  UniqueFd told(::fcntl(ends[1], F_DUPFD_CLOEXEC, 10));
  ::close(ends[1]);
  const Prepared prepared{.program = program.c_str(),
                          .argv = argv.data(),
                          .envp = envp.data(),
                          .folder = options.folder.c_str(),
                          .stdout_fd = options.stdout_fd,
                          .socket_fd = options.socket_fd,
                          .report_fd = told.get(),
                          .parent = ::getpid(),
                          .memory = options.memory_bytes,
                          .rules = confinement ? confinement->rules() : -1};
  const pid_t pid = ::fork();
  if (pid < 0) return fail(errno_error(errno, fmt::format("start {}", program)));
  if (pid == 0) become(prepared);
  told.reset();
  ChildProcess child(pid);
  int failure = 0;
  if (::read(report.get(), &failure, sizeof failure) == sizeof failure)
    return fail(ErrorCode::kUnavailable,
                fmt::format("{} cannot be started: {}", program, std::strerror(failure)),
                "name another interpreter with --python");
  return child;
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    kill();
    pid_ = std::exchange(other.pid_, -1);
  }
  return *this;
}

void ChildProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::optional<std::string> ChildProcess::ended() {
  if (pid_ <= 0) return "it was not started";
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  ::kill(-pid_, SIGKILL);
  pid_ = -1;
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

bool is_program(const std::string& name) {
  const std::string program = find_program(name);
  return program.contains('/') && ::access(program.c_str(), X_OK) == 0;
}

std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool changed = false;
    for (const std::string& change : changes)
      changed = changed || (!name.empty() && change.starts_with(name));
    if (!changed) all.emplace_back(text);
  }
  all.insert(all.end(), changes.begin(), changes.end());
  return all;
}

Result<std::string> output_of(const std::vector<std::string>& argv, std::chrono::milliseconds timeout) {
  return output_of(ChildOptions{.argv = argv, .environment = environment_with({}), .folder = ""}, timeout);
}

Result<std::string> output_of(ChildOptions options, std::chrono::milliseconds timeout) {
  const std::string program = options.argv.front();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errno_error(errno, "make a pipe"));
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  options.stdout_fd = to.get();
  SLIPWAY_ASSIGN(ChildProcess child, ChildProcess::start(options));
  to.reset();
  const Monotonic deadline = std::chrono::steady_clock::now() + timeout;
  std::string text;
  for (std::array<char, 4096> buffer;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd readable{.fd = from.get(), .events = POLLIN, .revents = 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&readable, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return fail(ErrorCode::kTimeout, fmt::format("{} did not end in time", program));
    const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > kMaxOutput)
      return fail(ErrorCode::kInternal, fmt::format("{} writes without end", program));
  }
  for (std::optional<std::string> how; !how;) {
    how = child.ended();
    if (how == "exit code 0") return text;
    if (how) return fail(ErrorCode::kInternal, fmt::format("{} ended with {}", program, *how));
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorCode::kTimeout, fmt::format("{} did not end in time", program));
    ::usleep(500);
  }
  return text;
}

}  // namespace slipway::serving

#include "base/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "base/shared_number.h"

namespace slipway {
namespace {

constexpr Duration kAskEvery = std::chrono::milliseconds(100);
constexpr Duration kGrace = std::chrono::seconds(3);
constexpr size_t kMostOutput = 64 << 20;
constexpr size_t kLongestLine = 16 << 10;
constexpr size_t kKeptForErrors = 4 << 10;

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  list.reserve(strings.size() + 1);
  for (const std::string& text : strings) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Made before the child exists: between vfork and execve it may only make system calls.
struct Launch {
  const char* program;
  char* const* argv;
  char* const* envp;
  const char* folder;  // nullptr: stay
  std::array<int, 3> streams;
  bool own_session;
  bool dies_with_thread;
  pid_t parent;
};

// Returns only when it failed, with the reason in errno.
void become(const Launch& launch) {
  if (launch.own_session) {
    ::setsid();
  } else {
    ::setpgid(0, 0);
  }
  if (launch.dies_with_thread) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // It may have died before that was said.
    if (::getppid() != launch.parent) ::_exit(127);
  }
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < 32; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int i = 0; i < 3; ++i)
    if (::dup2(launch.streams[static_cast<size_t>(i)], i) < 0) return;
  ::syscall(SYS_close_range, 3U, ~0U, 0);
  if (launch.folder != nullptr && ::chdir(launch.folder) != 0) return;
  ::execve(launch.program, launch.argv, launch.envp);
}

// The parent waits until the child has become another program. TSan turns vfork into a fork that does not
// wait, so that it is given the system call itself.
#if __has_feature(thread_sanitizer)
#define SLIPWAY_VFORK() static_cast<pid_t>(::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0))
#else
#define SLIPWAY_VFORK() ::vfork()
#endif

pid_t vfork_into(const Launch& launch, volatile int* error) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  // posix_spawn cannot set the parent-death signal.
  const pid_t pid = SLIPWAY_VFORK();  // NOLINT(bugprone-unsafe-functions)
  if (pid == 0) {
    become(launch);
    *error = errno;
    ::_exit(127);
  }
  if (pid < 0) *error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return pid;
}

// The ends of a pipe; the reading one does not block.
Result<std::array<UniqueFd, 2>> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errno_error(errno, "make a pipe"));
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return std::array<UniqueFd, 2>{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Cuts what comes into lines. Progress bars end theirs with a carriage return.
class Lines {
 public:
  explicit Lines(const std::function<void(std::string_view)>& take) : take_(take) {}
  void add(std::string_view bytes, std::string& last_lines) {
    for (const char c : bytes) {
      if (c == '\n' || c == '\r') {
        end(last_lines);
      } else if (line_.size() < kLongestLine) {
        line_ += c;
      }
    }
  }
  void end(std::string& last_lines) {
    if (line_.empty()) return;
    if (take_) take_(line_);
    last_lines += line_ + '\n';
    if (last_lines.size() > 2 * kKeptForErrors) last_lines.erase(0, last_lines.size() - kKeptForErrors);
    line_.clear();
  }

 private:
  const std::function<void(std::string_view)>& take_;
  std::string line_;
};

// One program whose output is read until it and all that hold its pipes have ended.
class Running {
 public:
  explicit Running(const ProgramCall& call)
      : call_(call), out_lines_(call.on_line), err_lines_(call.on_line) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  Status start() {
    SLIPWAY_ASSIGN(auto out, make_pipe());
    SLIPWAY_ASSIGN(auto err, make_pipe());
    SpawnOptions options{.program = call_.program,
                         .arguments = {call_.program.filename().string()},
                         .environment = environment_list(call_.environment),
                         .folder = call_.folder,
                         .out = out[1].get(),
                         .err = err[1].get(),
                         .dies_with_thread = true};
    options.arguments.insert(options.arguments.end(), call_.arguments.begin(), call_.arguments.end());
    SLIPWAY_ASSIGN(pid_, spawn_program(options));
    out_ = std::move(out[0]);
    err_ = std::move(err[0]);
    return {};
  }

  ProgramEnd finish() {
    const Monotonic end = std::chrono::steady_clock::now() + call_.longest;
    std::optional<int> status;
    while (!status || out_ || err_) {
      const bool drained = !read_what_comes();
      if (!status) status = try_reap(pid_);
      // A daemon that holds the pipes open is not waited for.
      if (status && drained) break;
      const Monotonic now = std::chrono::steady_clock::now();
      if (!ending_at_ && now >= end) end_.timed_out = true;
      if (!ending_at_ && call_.wanted && !call_.wanted()) end_.unwanted = true;
      if (end_.timed_out || end_.unwanted) press(now);
    }
    pid_ = -1;
    out_lines_.end(end_.last_lines);
    err_lines_.end(end_.last_lines);
    end_.code = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
    return std::move(end_);
  }

 private:
  void press(Monotonic now) {
    if (!ending_at_) {
      ending_at_ = now;
      ::kill(-pid_, SIGTERM);
    } else if (now - *ending_at_ > kGrace) {
      ::kill(-pid_, SIGKILL);
    }
  }

  // False: nothing came for a while.
  bool read_what_comes() {
    std::array<pollfd, 2> polled{{{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}}};
    const auto wait =
        std::chrono::duration_cast<std::chrono::milliseconds>(out_ || err_ ? kAskEvery : kAskEvery / 100);
    ::poll(polled.data(), polled.size(), static_cast<int>(wait.count()));
    const bool out = read_from(out_, [this](std::string_view bytes) { take_output(bytes); });
    const bool err =
        read_from(err_, [this](std::string_view bytes) { err_lines_.add(bytes, end_.last_lines); });
    return out || err;
  }

  void take_output(std::string_view bytes) {
    if (!call_.keep_output) return out_lines_.add(bytes, end_.last_lines);
    end_.output += bytes.substr(0, kMostOutput - std::min(kMostOutput, end_.output.size()));
  }

  template <class Take>
  bool read_from(UniqueFd& fd, const Take& take) {
    if (!fd) return false;
    std::array<char, 16384> buffer;
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (count <= 0) {
      fd.reset();
      return false;
    }
    take(std::string_view(buffer.data(), static_cast<size_t>(count)));
    return true;
  }

  const ProgramCall& call_;
  Lines out_lines_;
  Lines err_lines_;
  pid_t pid_ = -1;
  UniqueFd out_;
  UniqueFd err_;
  ProgramEnd end_;
  std::optional<Monotonic> ending_at_;
};

}  // namespace

Result<pid_t> spawn_program(const SpawnOptions& options) {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail(errno_error(errno, "open /dev/null"));
  const auto stream = [&](int fd) { return fd >= 0 ? fd : null.get(); };
  const std::vector<char*> argv = pointers(options.arguments);
  const std::vector<char*> envp = pointers(options.environment);
  const Launch launch{.program = options.program.c_str(),
                      .argv = argv.data(),
                      .envp = envp.data(),
                      .folder = options.folder.empty() ? nullptr : options.folder.c_str(),
                      .streams = {stream(options.in), stream(options.out), stream(options.err)},
                      .own_session = options.own_session,
                      .dies_with_thread = options.dies_with_thread,
                      .parent = ::getpid()};
  SharedNumber shared;
  const pid_t pid = vfork_into(launch, shared.get());
  const int error = *shared.get();
  if (error == 0) return pid;
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  return fail(errno_error(error, fmt::format("start {}", options.program.string())));
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

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::vector<std::string> environment_list(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> list;
  list.reserve(variables.size());
  for (const auto& [name, value] : variables) list.push_back(fmt::format("{}={}", name, value));
  return list;
}

std::filesystem::path find_on_path(std::string_view name, std::string_view path) {
  while (!path.empty()) {
    const size_t size = std::min(path.find(':'), path.size());
    std::filesystem::path file = std::filesystem::path(path.substr(0, size)) / name;
    struct stat status{};
    if (file.is_absolute() && ::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        ::access(file.c_str(), X_OK) == 0)
      return file;
    path.remove_prefix(std::min(size + 1, path.size()));
  }
  return {};
}

Result<ProgramEnd> run_program(const ProgramCall& call) {
  Running running(call);
  SLIPWAY_TRY(running.start());
  return running.finish();
}

}  // namespace slipway

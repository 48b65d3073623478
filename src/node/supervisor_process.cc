#include "node/supervisor_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "base/shared_number.h"

namespace slipway::node {
namespace {

// Everything the new process needs, made before it exists: between vfork and execve it may only make system
// calls.
struct Launch {
  const char* root;             // nullptr: this machine's
  const char* const* programs;  // tried in this order
  char* const* argv;
  char* const* envp;
  const char* work;
  int join_file;  // -1: it is in its group already
  int in;
  int out;
  int err;
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  list.reserve(strings.size() + 1);
  for (std::string& text : strings) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

void write_quietly(int fd, const char* text) {
  (void)!::write(fd, text, std::strlen(text));
}

// Returns only when it failed, with the reason in errno. Runs in memory shared with the parent, which waits.
void become_the_job(const Launch& launch) {
  ::setsid();
  // A death of the supervisor must not leave a job that nobody sees; what this one started, end_orphans
  // finds.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < 32; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (launch.join_file >= 0) write_quietly(launch.join_file, "0");
  if (const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    write_quietly(fd, "0");
    ::close(fd);
  }
  if (::dup2(launch.in, 0) < 0 || ::dup2(launch.out, 1) < 0 || ::dup2(launch.err, 2) < 0) return;
  if (::syscall(SYS_close_range, 3U, ~0U, 0) != 0)
    for (int fd = 3; fd < 1024; ++fd) ::close(fd);
  ::umask(022);
  if (launch.root != nullptr && ::chroot(launch.root) != 0) return;
  if (::chdir(launch.work) != 0) return;
  int denied = ENOENT;
  for (const char* const* program = launch.programs; *program != nullptr; ++program) {
    ::execve(*program, launch.argv, launch.envp);
    if (errno != ENOENT && errno != ENOTDIR) denied = errno;
  }
  errno = denied;
}

[[noreturn]] void run_child(const Launch& launch, volatile int* error) {
  become_the_job(launch);
  *error = errno;
  ::_exit(127);
}

// Born inside a v2 cgroup: entering one later would make the job wait for the whole machine. Like vfork the
// parent waits until the child has executed, but each has memory of its own.
pid_t spawn_in_cgroup(Launch launch, int cgroup, volatile int* error) {
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP | CLONE_VFORK;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<uint64_t>(cgroup);
  launch.join_file = -1;
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) run_child(launch, error);
  return static_cast<pid_t>(pid);
}

// `error` lies in memory that parent and child share.
__attribute__((noinline)) pid_t spawn(const Launch& launch, int cgroup, volatile int* error) {
  if (cgroup >= 0)
    if (const pid_t pid = spawn_in_cgroup(launch, cgroup, error); pid > 0) return pid;
  // No such cgroup, kernel or permission: the child enters by itself.
  // NOLINTNEXTLINE(bugprone-unsafe-functions): posix_spawn cannot do what the child does before it executes.
  const pid_t pid = ::vfork();
  if (pid == 0) run_child(launch, error);
  if (pid < 0) *error = errno;
  return pid;
}

std::unexpected<Error> not_executable(const std::string& program, int error) {
  std::string why = std::strerror(error);
  std::string next;
  if (error == EACCES) {
    why = "the file is not executable";
    next = fmt::format("chmod +x it, or name its interpreter: python {}", program);
  } else if (error == ENOEXEC) {
    why = "it is neither a program of this machine nor a script that begins with '#!'";
    next = fmt::format("name its interpreter: sh {}", program);
  } else if (error == ENOENT) {
    why = "the interpreter in its first line is not on this node";
  } else if (error == E2BIG) {
    why = "its arguments and environment are too long for the system";
  }
  return fail(ErrorCode::kInvalidArgument, fmt::format("cannot start '{}': {}", program, why),
              std::move(next));
}

bool is_program(const std::string& path, int& error) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
    return false;
  }
  if (S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0) return true;
  error = EACCES;
  return false;
}

std::string below(const std::string& folder, const std::string& name) {
  return name.starts_with('/') ? name : folder + "/" + name;
}

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errno_error(errno, "make a pipe for the job's output"));
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

}  // namespace

Result<std::string> find_program(const std::string& program, const std::string& path,
                                 const std::string& work) {
  int error = 0;
  if (program.find('/') != std::string::npos) {
    std::string file = below(work, program);
    if (is_program(file, error)) return file;
    if (error != 0) return not_executable(program, error);
    return fail(
        ErrorCode::kNotFound,
        program.starts_with('/')
            ? fmt::format("cannot start '{}': there is no such file on this node", program)
            : fmt::format("cannot start '{}': there is no such file in the run's working folder", program));
  }
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find(':', start), path.size());
    const std::string folder = below(work, end == start ? "." : path.substr(start, end - start));
    std::string file = fmt::format("{}/{}", folder, program);
    if (is_program(file, error)) return file;
    start = end + 1;
  }
  if (error != 0) return not_executable(program, error);
  return fail(ErrorCode::kNotFound,
              fmt::format("cannot start '{}': no such program on the PATH of this node", program));
}

namespace {

std::map<std::string, std::string> environment_of(const launch::SupervisorSpec& spec,
                                                  const launch::ProcessSpec& process) {
  std::map<std::string, std::string> environment = spec.environment;
  for (const auto& [name, value] : process.environment) environment[name] = value;
  return environment;
}

// The files that the program's name may mean. In an image links lead elsewhere than they do out here, so that
// only trying tells which it is.
Result<std::vector<std::string>> programs_for(const launch::SupervisorSpec& spec, const std::string& program,
                                              const std::string& path) {
  if (!spec.root) {
    SLIPWAY_ASSIGN(std::string file, find_program(program, path, spec.work));
    return std::vector{std::move(file)};
  }
  if (program.find('/') != std::string::npos) return std::vector{below(spec.work, program)};
  std::vector<std::string> files;
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find(':', start), path.size());
    files.push_back(below(spec.work, end == start ? "." : path.substr(start, end - start)) + "/" + program);
    start = end + 1;
  }
  return files;
}

}  // namespace

Result<StartedProcess> start_process(const launch::SupervisorSpec& spec, const launch::ProcessSpec& process,
                                     ProcessGroup::Entrance entrance) {
  const std::map<std::string, std::string> environment = environment_of(spec, process);
  const auto path = environment.find("PATH");
  const std::string& program = process.argv.front();
  SLIPWAY_ASSIGN(const std::vector<std::string> files,
                 programs_for(spec, program, path == environment.end() ? "" : path->second));
  std::vector<const char*> programs;
  for (const std::string& file : files) programs.push_back(file.c_str());
  programs.push_back(nullptr);
  SLIPWAY_ASSIGN(auto out, make_pipe());
  SLIPWAY_ASSIGN(auto err, make_pipe());
  const UniqueFd in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!in) return fail(errno_error(errno, "open /dev/null"));

  std::vector<std::string> arguments = process.argv;
  std::vector<std::string> variables;
  variables.reserve(environment.size());
  for (const auto& [name, value] : environment) variables.push_back(fmt::format("{}={}", name, value));
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);
  const Launch launch{.root = spec.root ? spec.root->mount.c_str() : nullptr,
                      .programs = programs.data(),
                      .argv = argv.data(),
                      .envp = envp.data(),
                      .work = spec.work.c_str(),
                      .join_file = entrance.file,
                      .in = in.get(),
                      .out = out.second.get(),
                      .err = err.second.get()};
  SharedNumber shared;
  const pid_t pid = spawn(launch, entrance.folder, shared.get());
  const int error = *shared.get();
  if (pid < 0) return fail(errno_error(error, fmt::format("start '{}'", program)));
  if (error != 0) {
    ::waitpid(pid, nullptr, 0);
    if (spec.root && error == ENOENT)
      return fail(ErrorCode::kNotFound,
                  fmt::format("cannot start '{}': there is no such program in the image", program));
    return not_executable(program, error);
  }
  return StartedProcess{.pid = pid, .out = std::move(out.first), .err = std::move(err.first)};
}

}  // namespace slipway::node

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/random.h"
#include "launch/mpi_variables.h"
#include "node/mpi.h"
#include "node/mpi_channel.h"

namespace slipway::node {
namespace {

using namespace std::chrono_literals;

constexpr Duration kHandshake = 5s;
// mpirun is gone: its daemon notices by itself, or is helped.
constexpr Duration kOrtedEnds = 5s;
constexpr Duration kOrtedObeys = 2s;

Result<UniqueFd> listen_at(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found);
      error != 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is not an address of this node: {}", endpoint.host, ::gai_strerror(error)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  UniqueFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(errno_error(errno, "make a socket"));
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(socket.get(), 16) != 0)
    return fail(errno_error(errno, fmt::format("listen at {}:{}", endpoint.host, endpoint.port)));
  return socket;
}

void complain(const Error& error) {
  std::fputs(fmt::format("slipway: {}\n", error.message).c_str(), stderr);
}

// A host name for this process and what it starts. Where that is not allowed OpenMPI goes on, and takes the
// nodes of one machine for one.
void take_host_name(const std::string& name) {
  if (name.empty()) return;
  if (::unshare(CLONE_NEWUTS) == 0 && ::sethostname(name.data(), name.size()) == 0) return;
  complain(errno_error(errno, fmt::format("call this node {}, which shares its machine with others", name)));
}

pid_t start_orted(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"orted"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::execvp("orted", argv.data());
  std::fputs(fmt::format("slipway: cannot start orted: {}\n", std::strerror(errno)).c_str(), stderr);
  ::_exit(127);
}

// True: it has ended within that time, and `status` says how.
bool await(pid_t pid, Duration within, int& status) {
  const Monotonic end = std::chrono::steady_clock::now() + within;
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd watched{process.get(), POLLIN, 0};
    ::poll(&watched, 1, static_cast<int>(std::min<int64_t>(left.count(), process ? 60'000 : 20)));
  }
  return true;
}

// Until orted has ended, or whoever asked for it has gone.
int see_to_its_end(pid_t orted, MpiChannel& channel) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, orted, 0)));
  int status = 0;
  while (::waitpid(orted, &status, WNOHANG) == 0) {
    pollfd watched[] = {{process.get(), POLLIN, 0}, {channel.fd(), POLLIN | POLLRDHUP, 0}};
    ::poll(watched, 2, process ? -1 : 100);
    if (watched[1].revents == 0) continue;
    if (await(orted, kOrtedEnds, status)) break;
    ::kill(orted, SIGTERM);
    if (await(orted, kOrtedObeys, status)) break;
    ::kill(orted, SIGKILL);
    ::waitpid(orted, &status, 0);
    break;
  }
  return status;
}

Result<std::vector<std::string>> take_order(MpiChannel& channel, const Secret& secret) {
  const std::string nonce = random_base32(32);
  SLIPWAY_TRY(channel.send_line("hello " + nonce));
  SLIPWAY_ASSIGN(const std::string line, channel.read_line(kHandshake));
  return arguments_in(line, secret, nonce);
}

}  // namespace

Result<int> wait_for_mpirun() {
  const Secret secret(take_variable(launch::kMpiSecret));
  take_host_name(take_variable(launch::kMpiHost));
  SLIPWAY_ASSIGN(const Endpoint endpoint, endpoint_from_text(take_variable(launch::kMpiListen)));
  SLIPWAY_ASSIGN(UniqueFd listener, listen_at(endpoint));
  while (true) {
    UniqueFd caller(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!caller && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!caller) return fail(errno_error(errno, "wait for mpirun"));
    const int yes = 1;
    ::setsockopt(caller.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    MpiChannel channel(std::move(caller));
    const auto arguments = take_order(channel, secret);
    if (!arguments) {
      complain(arguments.error());
      continue;
    }
    listener.reset();
    const pid_t orted = start_orted(*arguments);
    if (orted < 0) return fail(errno_error(errno, "start orted"));
    (void)channel.send_line("started");
    const int status = see_to_its_end(orted, channel);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    (void)channel.send_line(fmt::format("ended {}", code));
    if (WIFEXITED(status) && code != 127) return 0;
    complain({.code = ErrorCode::kRunFailed,
              .message = fmt::format("orted ended with {}", code),
              .next = "",
              .detail = ""});
    return 1;
  }
}

}  // namespace slipway::node

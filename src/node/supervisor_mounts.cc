#include "node/supervisor_mounts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "data/mount/attach.h"
#include "data/mount/serve.h"

namespace slipway::node {
namespace {

using namespace std::chrono_literals;

// Messages of the server: what has happened, then a sentence.
constexpr char kReady = 'r';
constexpr char kFailed = 'f';
constexpr char kMismatch = 'm';
constexpr size_t kLargestMessage = 64 << 10;
constexpr auto kStartTime = 5min;  // opt-outs look at every file first
constexpr Duration kLook = 1s;
constexpr const char* kLost = "the process that serves the run's mounted data has died";

Result<std::string> read_order(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
    return fail(ErrorCode::kInternal, "the order to mount the run's data did not come with the supervisor");
  std::string text(static_cast<size_t>(status.st_size), '\0');
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = ::pread(fd, text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail(errno_error(count < 0 ? errno : EIO, "read the order to mount"));
    at += static_cast<size_t>(count);
  }
  return text;
}

void say(int socket, char what, std::string_view sentence) {
  const std::string message = what + std::string(sentence.substr(0, kLargestMessage - 1));
  (void)!::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
}

std::string sentence_of(const Error& error) {
  return error.next.empty() ? error.message : fmt::format("{}; {}", error.message, error.next);
}

bool is_closed(int socket) {
  pollfd watched{socket, POLLIN | POLLRDHUP, 0};
  return ::poll(&watched, 1,
                static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(kLook).count())) > 0;
}

// The life of the serving process.
void serve(int socket, std::string text) {
  ::prctl(PR_SET_NAME, "slipway-mount");
  auto order = data::mount_order_from_text(text);
  text.clear();
  if (!order) return say(socket, kFailed, order.error().message);
  auto server = data::MountServer::start(
      std::move(*order), [socket](const Error& error) { say(socket, kMismatch, sentence_of(error)); });
  if (!server) return say(socket, kFailed, sentence_of(server.error()));
  say(socket, kReady, "");
  while (!is_closed(socket) && (*server)->serving()) {
  }
}

// Everything but the socket is closed: a pipe or a lock of the supervisor's kept open here would outlive it.
void leave_all_but(int socket) {
  ::setsid();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2})
    ::signal(signal, SIG_IGN);
  const auto below = static_cast<unsigned>(socket);
  ::syscall(SYS_close_range, 3U, below - 1, 0);
  ::syscall(SYS_close_range, below + 1, ~0U, 0);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing >= 0) ::dup2(nothing, 0);
}

Result<std::pair<char, std::string>> receive_from(int socket, int flags) {
  std::string message(kLargestMessage, '\0');
  ssize_t count = 0;
  do {
    count = ::recv(socket, message.data(), message.size(), flags);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return fail(errno_error(errno, "hear from the mounts"));
  if (count == 0) return fail(ErrorCode::kUnavailable, kLost);
  return std::pair(message.front(), message.substr(1, static_cast<size_t>(count) - 1));
}

}  // namespace

Result<std::unique_ptr<AttemptMounts>> AttemptMounts::start(int order_fd) {
  SLIPWAY_ASSIGN(std::string text, read_order(order_fd));
  // Without it the server mounts with fusermount3, in everybody's view.
  if (Status entered = data::enter_private_mounts(); !entered)
    log_info("mounts.not_private", {{"error", entered.error()}});
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(errno_error(errno, "make a socket"));
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t between = ::fork();
  if (between < 0) return fail(errno_error(errno, "start the process that serves the mounts"));
  if (between == 0) {
    if (::fork() == 0) {
      leave_all_but(theirs.get());
      serve(theirs.get(), std::move(text));
    }
    ::_exit(0);
  }
  while (::waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  theirs.reset();
  pollfd watched{ours.get(), POLLIN, 0};
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(kStartTime).count();
  if (::poll(&watched, 1, static_cast<int>(patience)) <= 0)
    return fail(ErrorCode::kTimeout, "the run's data could not be mounted in time");
  SLIPWAY_ASSIGN(const auto message, receive_from(ours.get(), 0));
  if (message.first != kReady)
    return fail(ErrorCode::kUnavailable,
                fmt::format("the run's data could not be mounted: {}", message.second));
  return std::unique_ptr<AttemptMounts>(new AttemptMounts(std::move(ours)));
}

std::optional<std::string> AttemptMounts::receive() {
  if (!socket_) return std::nullopt;
  auto message = receive_from(socket_.get(), MSG_DONTWAIT);
  if (!message && message.error().code != ErrorCode::kUnavailable) return std::nullopt;
  // One reason is enough, and a closed socket would be readable for ever.
  socket_.reset();
  return message ? message->second : std::string(kLost);
}

}  // namespace slipway::node

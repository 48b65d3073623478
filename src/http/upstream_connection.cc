#include "http/upstream_connection.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace slipway::http {
namespace {

// Shorter than any server that we pass requests to waits for the next one (Limits::idle_time), so that it is
// not closed under a request on its way.
constexpr std::chrono::seconds kKeptFor{30};
constexpr size_t kKeptEach = 64;

Error unreachable(const Upstream& upstream, int error) {
  return {.code = ErrorCode::kUnreachable,
          .message = "the server that the request was to be passed on to does not answer",
          .next = "try again",
          .detail = fmt::format("{} port {}: {}", upstream.host, upstream.port, std::strerror(error))};
}

}  // namespace

UpstreamConnection::UpstreamConnection(const Executor& executor, UniqueFd connection)
    : socket(executor, asio::generic::stream_protocol(AF_UNSPEC, IPPROTO_TCP), connection.get()),
      channel(connection.get(), {}) {
  connection.release();  // the socket's from here on
}

bool UpstreamConnection::readable() const {
  char byte = 0;
  const ssize_t got = ::recv(channel.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

bool UpstreamConnection::quiet() const {
  return input.empty() && !readable();
}

Result<UniqueFd> begin_connect(const Upstream& upstream) {
  sockaddr_in6 six{};
  sockaddr_in four{};
  const bool is_six = upstream.host.contains(':');
  const int parsed = is_six ? ::inet_pton(AF_INET6, upstream.host.c_str(), &six.sin6_addr)
                            : ::inet_pton(AF_INET, upstream.host.c_str(), &four.sin_addr);
  if (parsed != 1) return fail(unreachable(upstream, EINVAL));
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(upstream.port);
  four.sin_family = AF_INET;
  four.sin_port = htons(upstream.port);
  UniqueFd socket(::socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail(unreachable(upstream, errno));
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto* address =
      is_six ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
  const socklen_t size = is_six ? sizeof six : sizeof four;
  if (::connect(socket.get(), address, size) != 0 && errno != EINPROGRESS && errno != EINTR)
    return fail(unreachable(upstream, errno));
  return socket;
}

Status finish_connect(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0)
    return fail(ErrorCode::kUnreachable, fmt::format("no connection: {}", std::strerror(error)));
  return {};
}

std::unique_ptr<UpstreamConnection> UpstreamPool::take(const Upstream& upstream) {
  const auto found = idle_.find(upstream.id);
  if (found == idle_.end()) return nullptr;
  while (!found->second.empty()) {
    std::unique_ptr<UpstreamConnection> connection = std::move(found->second.front());
    found->second.pop_front();
    if (connection->quiet()) return connection;
  }
  return nullptr;
}

void UpstreamPool::keep(const Upstream& upstream, std::unique_ptr<UpstreamConnection> connection,
                        Monotonic now) {
  connection->idle_since = now;
  connection->input.release_if_empty();
  auto& kept = idle_[upstream.id];
  kept.push_front(std::move(connection));
  if (kept.size() > kKeptEach) kept.pop_back();
}

void UpstreamPool::tidy(Monotonic now) {
  for (auto place = idle_.begin(); place != idle_.end();) {
    auto& kept = place->second;
    while (!kept.empty() && (now - kept.back()->idle_since > kKeptFor || !kept.back()->quiet()))
      kept.pop_back();
    place = kept.empty() ? idle_.erase(place) : std::next(place);
  }
}

}  // namespace slipway::http

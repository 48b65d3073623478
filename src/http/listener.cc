#include "http/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/log.h"

namespace slipway::http {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

void set_option(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof value);
}

// Connections inherit these from the listener. A peer that has vanished without a word is noticed by probes,
// or by bytes that it does not acknowledge.
void set_options(int fd, const Limits& limits) {
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(limits.progress_time.count() * 1000));
}

std::unexpected<Error> cannot_listen(const ServerOptions& options, int error) {
  std::string next;
  if (error == EADDRINUSE)
    next = "stop the program that uses this port (slipway down), or choose another port";
  if (error == EADDRNOTAVAIL) next = "choose an address of this machine; `ip address` lists them";
  if (error == EACCES) next = "choose a port above 1023";
  return fail(
      ErrorCode::kUnavailable,
      fmt::format("cannot listen on {}, port {}: {}", options.address, options.port, std::strerror(error)),
      std::move(next));
}

uint16_t port_of(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
  const in_port_t port = bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                                     : reinterpret_cast<sockaddr_in*>(&bound)->sin_port;
  return ntohs(port);
}

UniqueFd open_spare() {
  return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

Listener::Listener(UniqueFd socket, uint16_t port)
    : socket_(std::move(socket)), port_(port), spare_(open_spare()) {}

Result<Listener> Listener::open(const ServerOptions& options) {
  const addrinfo hints{.ai_flags = AI_NUMERICHOST | AI_PASSIVE,
                       .ai_family = AF_UNSPEC,
                       .ai_socktype = SOCK_STREAM,
                       .ai_protocol = 0,
                       .ai_addrlen = 0,
                       .ai_addr = nullptr,
                       .ai_canonname = nullptr,
                       .ai_next = nullptr};
  const std::string address = options.address == "localhost" ? "127.0.0.1" : options.address;
  addrinfo* list = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(options.port).c_str(), &hints, &list) != 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not an IP address to listen on", options.address),
                "give one such as 127.0.0.1, 0.0.0.0 or ::1");
  const std::unique_ptr<addrinfo, FreeAddresses> owner(list);
  UniqueFd socket(::socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return cannot_listen(options, errno);
  set_options(socket.get(), options.limits);
  if (::bind(socket.get(), list->ai_addr, list->ai_addrlen) != 0) return cannot_listen(options, errno);
  if (::listen(socket.get(), SOMAXCONN) != 0) return cannot_listen(options, errno);
  const uint16_t port = port_of(socket.get());
  return Listener(std::move(socket), port);
}

Listener::Outcome Listener::accept(UniqueFd& connection) {
  for (;;) {
    connection = UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection) return Outcome::kTaken;
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
    break;
  }
  if (errno == EAGAIN) return Outcome::kNone;
  if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) {
    log_error("http.accept_failed", {{"why", std::strerror(errno)}});
    return Outcome::kExhausted;
  }
  // Left in the queue the peer would hang, and the socket would stay readable for ever.
  spare_.reset();
  UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
  spare_ = open_spare();
  return Outcome::kExhausted;
}

}  // namespace slipway::http

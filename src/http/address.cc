#include "http/address.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "http/channel.h"

namespace slipway::http {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, FreeAddresses>;

std::unexpected<Error> bad_url(std::string_view url) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not the address of a server", url),
              "write it as http://127.0.0.1:7070 or https://name:port");
}

std::unexpected<Error> unreachable(const Address& address, std::string_view why) {
  return fail(ErrorCode::kUnreachable, fmt::format("no server answers at {}: {}", address.authority, why),
              "start one with `slipway up`, or give the address of another");
}

AddressList look_up(const Address& address, int& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  // An address needs no name service; asking it would cost the command line its quick start.
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  const char* host = address.host == "localhost" ? "127.0.0.1" : address.host.c_str();
  error = ::getaddrinfo(host, address.port.c_str(), &hints, &list);
  if (error == EAI_NONAME) {
    hints.ai_flags = AI_NUMERICSERV;
    error = ::getaddrinfo(host, address.port.c_str(), &hints, &list);
  }
  return AddressList(error == 0 ? list : nullptr);
}

void set_options(int fd) {
  const int on = 1;
  const int idle = 30;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
}

bool is_link_local(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(four->sin_addr.s_addr) & 0xffff0000U) == 0xa9fe0000U;
  }
  const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
  const unsigned char* bytes = six->sin6_addr.s6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) return bytes[12] == 169 && bytes[13] == 254;
  return IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

// Nobody listens, the port is one the kernel hands out to clients, and it has handed out that very one: TCP
// then connects the socket to itself. Kept, it would also keep the server that is to come back from its port.
bool is_connected_to_itself(int fd) {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_size = sizeof here;
  socklen_t there_size = sizeof there;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &here_size) != 0) return false;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &there_size) != 0) return false;
  return here_size == there_size && std::memcmp(&here, &there, here_size) == 0;
}

Result<Address> parse_socket_path(std::string_view url, std::string_view path) {
  if (!path.starts_with('/') || path.contains('\0') || path.size() >= sizeof(sockaddr_un::sun_path))
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' does not name a Unix socket", url),
                fmt::format("write it as unix:/absolute/path, with at most {} bytes in the path",
                            sizeof(sockaddr_un::sun_path) - 1));
  Address address;
  address.authority = "localhost";
  address.socket_path = path;
  return address;
}

Result<UniqueFd> connect_to_socket(const Address& address) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail(errno_error(errno, "open a socket"));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, address.socket_path.data(), address.socket_path.size());
  // At once or not at all: the kernel queues it, or says that the queue is full.
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0)
    return fail(ErrorCode::kUnreachable,
                fmt::format("nothing answers at unix:{}: {}", address.socket_path, std::strerror(errno)),
                "start what listens there, or give another address");
  return fd;
}

}  // namespace

Result<Address> parse_address(std::string_view url) {
  if (url.starts_with("unix:")) return parse_socket_path(url, url.substr(5));
  Address address;
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    address.secure = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return bad_url(url);
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  // No user, path, query or odd characters: nothing of the address may reach another place in the request.
  const auto odd = [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || std::string_view("/@?#\\\"<>").contains(c);
  };
  if (rest.empty() || std::ranges::any_of(rest, odd)) return bad_url(url);
  address.authority = rest;
  const size_t bracket = rest.rfind(']');
  const size_t colon = rest.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  address.port = has_port ? std::string(rest.substr(colon + 1)) : (address.secure ? "443" : "80");
  std::string_view host = rest.substr(0, has_port ? colon : rest.size());
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  address.host = host;
  const bool digits = std::ranges::all_of(address.port, [](char c) { return c >= '0' && c <= '9'; });
  if (address.host.empty() || address.port.empty() || address.port.size() > 5 || !digits ||
      (bracket == std::string_view::npos && host.contains(':')))
    return bad_url(url);
  return address;
}

Result<UniqueFd> connect_to(const Address& address, std::chrono::steady_clock::time_point deadline,
                            int interrupt_fd) {
  if (!address.socket_path.empty()) return connect_to_socket(address);
  int lookup_error = 0;
  const AddressList list = look_up(address, lookup_error);
  if (list == nullptr) return unreachable(address, ::gai_strerror(lookup_error));
  int error = ECONNREFUSED;
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    if (address.refuse_link_local && is_link_local(entry->ai_addr))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} is a link-local address, which is not connected to", address.authority));
    UniqueFd fd(::socket(entry->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) return fail(errno_error(errno, "open a socket"));
    set_options(fd.get());
    error = ::connect(fd.get(), entry->ai_addr, entry->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      const Waited waited = wait_until(Channel(fd.get(), {}), IoState::kWantWrite, deadline, interrupt_fd);
      if (waited == Waited::kInterrupted) return fail(ErrorCode::kUnavailable, "the call was interrupted");
      if (waited == Waited::kTimeout) return unreachable(address, "no answer in time");
      socklen_t size = sizeof error;
      ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0 && is_connected_to_itself(fd.get())) error = ECONNREFUSED;
    if (error == 0) return fd;
  }
  return unreachable(address, std::strerror(error));
}

}  // namespace slipway::http

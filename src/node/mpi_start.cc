#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <thread>

#include "launch/mpi_variables.h"
#include "launch/orted_command.h"
#include "node/mpi.h"
#include "node/mpi_channel.h"

namespace slipway::node {
namespace {

using namespace std::chrono_literals;

// All nodes have been met before mpirun was started: who does not listen yet will in a moment.
constexpr Duration kConnectTime = 60s;
constexpr Duration kFirstPause = 3ms;
constexpr Duration kLongestPause = 200ms;
constexpr Duration kAnswerTime = 30s;

Result<Endpoint> endpoint_of(std::string_view host, std::string_view peers) {
  while (!peers.empty()) {
    const std::string_view entry = peers.substr(0, peers.find(','));
    peers.remove_prefix(std::min(peers.size(), entry.size() + 1));
    const size_t equals = entry.find('=');
    if (equals != std::string_view::npos && entry.substr(0, equals) == host)
      return endpoint_from_text(entry.substr(equals + 1));
  }
  return fail(ErrorCode::kInvalidArgument, "mpirun asked for a node that is not one of this run's");
}

Result<UniqueFd> connect_once(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found);
      error != 0)
    return fail(ErrorCode::kUnreachable,
                fmt::format("{} cannot be found: {}", endpoint.host, ::gai_strerror(error)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  UniqueFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(errno_error(errno, "make a socket"));
  // The system itself gives up after minutes.
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0)
    return fail(ErrorCode::kUnreachable, fmt::format("{}:{} does not answer: {}", endpoint.host,
                                                     endpoint.port, std::generic_category().message(errno)));
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return socket;
}

Result<UniqueFd> connect_to(const Endpoint& endpoint) {
  const Monotonic end = std::chrono::steady_clock::now() + kConnectTime;
  Duration pause = kFirstPause;
  while (true) {
    auto socket = connect_once(endpoint);
    if (socket || std::chrono::steady_clock::now() >= end) return socket;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

Result<int> code_in(std::string_view line) {
  constexpr std::string_view kEnded = "ended ";
  int code = 0;
  if (line.starts_with(kEnded)) {
    const std::string_view digits = line.substr(kEnded.size());
    if (std::from_chars(digits.data(), digits.data() + digits.size(), code).ec == std::errc{}) return code;
  }
  return fail(ErrorCode::kInternal, "the other node said something else than how orted ended");
}

}  // namespace

Result<int> start_on_node(const std::vector<std::string>& words) {
  if (words.size() < 2)
    return fail(ErrorCode::kInvalidArgument, "mpirun named no host or no command",
                "this command is called by mpirun, for the launcher 'mpi'");
  const Secret secret(take_variable(launch::kMpiSecret));
  SLIPWAY_ASSIGN(const Endpoint endpoint, endpoint_of(words.front(), take_variable(launch::kMpiPeers)));
  SLIPWAY_ASSIGN(const auto arguments, launch::orted_arguments({words.begin() + 1, words.end()}));
  SLIPWAY_ASSIGN(UniqueFd socket, connect_to(endpoint));
  MpiChannel channel(std::move(socket));
  SLIPWAY_ASSIGN(const std::string hello, channel.read_line(kAnswerTime));
  constexpr std::string_view kHello = "hello ";
  if (!hello.starts_with(kHello))
    return fail(ErrorCode::kInternal, fmt::format("{} is not a node of this run", endpoint.host));
  SLIPWAY_TRY(channel.send_line(order_line(secret, hello.substr(kHello.size()), arguments)));
  SLIPWAY_ASSIGN(const std::string started, channel.read_line(kAnswerTime));
  if (started != "started") return fail(ErrorCode::kRunFailed, fmt::format("{}: {}", words.front(), started));
  SLIPWAY_ASSIGN(const std::string ended, channel.read_line(Duration(-1)));
  return code_in(ended);
}

}  // namespace slipway::node

#include "node/agent_rendezvous.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>
#include <span>

#include "launch/launcher.h"

namespace slipway::node {
namespace {

// The server sends word when all have come; these are for the case that the word is lost.
constexpr Duration kFirstWait = std::chrono::milliseconds(500);
constexpr Duration kLongestWait = std::chrono::seconds(5);

std::string own_address(const AttemptOrder& order) {
  const auto own = std::ranges::find(order.peers, order.key.rank, &Peer::rank);
  return own == order.peers.end() || own->address.empty() ? "127.0.0.1" : own->address;
}

Result<Rendezvous> ask(ServerLink& server, const AttemptOrder& order, const NodeOffer& offer,
                       AttemptSignals& signals) {
  Rendezvous answer;
  SLIPWAY_TRY(signals.insist(
      [&]() -> Status {
        SLIPWAY_ASSIGN(const json::object body,
                       server.post(server.attempt_target(order.key, "rendezvous"), to_json(offer)));
        SLIPWAY_ASSIGN(answer, rendezvous_from_json(body));
        return {};
      },
      [&] { return !signals.canceled(); }));
  return answer;
}

Result<Rendezvous> wait_for_all(ServerLink& server, const AttemptOrder& order, const NodeOffer& offer,
                                AttemptSignals& signals) {
  Duration wait = kFirstWait;
  while (true) {
    SLIPWAY_ASSIGN(Rendezvous answer, ask(server, order, offer, signals));
    if (!answer.offers.empty()) return answer;
    if (!signals.interrupted() && !signals.canceled()) signals.wait(wait);
    if (signals.interrupted() || signals.canceled())
      return fail(ErrorCode::kConflict, "the run ended while its nodes waited for each other");
    wait = std::min(wait * 2, kLongestWait);
  }
}

// What an earlier agent of this node had offered stands: the others know it by now.
Status hold_promised(const NodeOffer& promised, std::vector<UniqueFd>& held) {
  held.clear();
  for (const int number : promised.ports) {
    SLIPWAY_ASSIGN(HeldPort port, hold_port(number));
    held.push_back(std::move(port.socket));
  }
  return {};
}

// The bytes of an IPv4 or IPv6 address.
std::span<uint8_t> bytes_of(sockaddr* address) {
  if (address->sa_family == AF_INET)
    return {reinterpret_cast<uint8_t*>(&reinterpret_cast<sockaddr_in*>(address)->sin_addr), 4};
  return {reinterpret_cast<uint8_t*>(&reinterpret_cast<sockaddr_in6*>(address)->sin6_addr), 16};
}

std::string text_of(sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(address->sa_family, bytes_of(address).data(), text, sizeof text);
  return text;
}

// "10.0.0.0/24". Takes the host's part out of the address.
std::string subnet_of(sockaddr* address, sockaddr* mask) {
  int length = 0;
  mask->sa_family = address->sa_family;
  const auto bytes = bytes_of(address);
  const auto masks = bytes_of(mask);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] &= masks[i];
    length += std::popcount(masks[i]);
  }
  return fmt::format("{}/{}", text_of(address), length);
}

void note(const AttemptOrder& order, const launch::NetworkPlace& place, PreparationLog& log) {
  const std::string network = launch::network_sentence(order.job, place);
  log.note("launch",
           fmt::format("{}: {} {} on {} {}{}{}", to_text(order.job.launcher), process_count(order.job),
                       process_count(order.job) == 1 ? "process" : "processes", order.job.nodes,
                       order.job.nodes == 1 ? "node" : "nodes", network.empty() ? "" : "; ", network));
}

}  // namespace

Result<HeldPort> hold_port(int number) {
  HeldPort port{.socket = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), .number = 0};
  if (!port.socket) return fail(errno_error(errno, "make a socket"));
  const int yes = 1;
  ::setsockopt(port.socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(number));
  socklen_t size = sizeof address;
  if (::bind(port.socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    if (errno == EADDRINUSE && number != 0)
      return fail(
          ErrorCode::kConflict,
          fmt::format("port {}, which this node had promised to the others, was taken meanwhile", number),
          "submit the run again");
    return fail(errno_error(errno, "hold a port for the run"));
  }
  if (::getsockname(port.socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return fail(errno_error(errno, "ask for the number of a port"));
  port.number = ntohs(address.sin_port);
  return port;
}

launch::NetworkPlace network_place_of(const std::string& address) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_netmask == nullptr) continue;
    const bool is4 = entry->ifa_addr->sa_family == AF_INET;
    if (!is4 && entry->ifa_addr->sa_family != AF_INET6) continue;
    if (text_of(entry->ifa_addr) == address)
      return {.interface = entry->ifa_name, .subnet = subnet_of(entry->ifa_addr, entry->ifa_netmask)};
  }
  return {};
}

Result<Gathered> meet_other_nodes(ServerLink& server, const AttemptOrder& order, AttemptSignals& signals,
                                  PreparationLog& log) {
  Gathered gathered;
  if (!launch::needs_rendezvous(order.job)) return gathered;
  NodeOffer offer{.rank = order.key.rank, .address = own_address(order), .ports = {}};
  gathered.network = network_place_of(offer.address);
  for (int i = launch::ports_needed(order.job, order.key.rank); i > 0; --i) {
    SLIPWAY_ASSIGN(HeldPort port, hold_port(0));
    offer.ports.push_back(port.number);
    gathered.ports.push_back(std::move(port.socket));
  }
  note(order, gathered.network, log);
  SLIPWAY_ASSIGN(Rendezvous all, wait_for_all(server, order, offer, signals));
  const auto own = std::ranges::find(all.offers, order.key.rank, &NodeOffer::rank);
  if (own == all.offers.end())
    return fail(ErrorCode::kInternal, "the server does not have this node's offer among those of the run");
  if (own->ports != offer.ports) SLIPWAY_TRY(hold_promised(*own, gathered.ports));
  gathered.offers = std::move(all.offers);
  return gathered;
}

}  // namespace slipway::node

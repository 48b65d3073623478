#include "node/agent_rendezvous.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <set>

namespace slipway::node {
namespace {

bool can_serve(int number, bool reuse) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = reuse ? 1 : 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(number));
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
         ::listen(socket.get(), 1) == 0;
}

TEST(HeldPort, IsGivenToAServerThatNamesItAndToNobodyElse) {
  const auto port = hold_port(0);
  ASSERT_TRUE(port) << port.error().message;
  EXPECT_TRUE(can_serve(port->number, true));
  EXPECT_FALSE(can_serve(port->number, false));
  std::vector<HeldPort> others;
  for (int i = 0; i < 200; ++i) {
    others.push_back(hold_port(0).value());
    EXPECT_NE(others.back().number, port->number);
  }
}

TEST(HeldPort, ThatAnotherServesIsRefused) {
  const UniqueFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(server.get(), 1), 0);
  ASSERT_EQ(::getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto port = hold_port(ntohs(address.sin_port));
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, ErrorCode::kConflict);
}

TEST(NetworkPlace, IsFoundByTheNodesAddress) {
  const launch::NetworkPlace place = network_place_of("127.0.0.1");
  EXPECT_EQ(place.interface, "lo");
  EXPECT_EQ(place.subnet, "127.0.0.0/8");
  EXPECT_EQ(network_place_of("192.0.2.77").interface, "");
  EXPECT_EQ(network_place_of("somewhere").interface, "");
}

}  // namespace
}  // namespace slipway::node

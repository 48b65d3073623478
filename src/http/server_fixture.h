// For this folder's tests: a server on a free loopback port, and a raw socket to send it what no client
// would.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <string>

#include "http/client.h"
#include "http/server.h"

namespace slipway::http {

// Lets in whoever has the token "good"; public routes everyone. Counts what it is asked.
class TokenGate final : public Authoriser {
 public:
  Result<Caller> authorise(const Request& request, Access needed) override {
    ++asked;
    Caller caller;
    if (needed == Access::kPublic) return caller;
    if (revoked || request.header("authorization") != "Bearer good")
      return fail(ErrorCode::kUnauthenticated, "there is no such token", "give a good one");
    caller.kind = CallerKind::kUser;
    caller.name = "tester";
    return caller;
  }
  std::atomic<bool> revoked = false;
  std::atomic<int> asked = 0;
};

class RawSocket {
 public:
  explicit RawSocket(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd_.reset();
  }
  bool connected() const { return static_cast<bool>(fd_); }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  void end_sending() { ::shutdown(fd_.get(), SHUT_WR); }
  // What comes until `until` has come, the connection ends or 10 s pass.
  std::string read_until(std::string_view until) {
    std::string got;
    while (until.empty() || !got.contains(until)) {
      pollfd watched{fd_.get(), POLLIN, 0};
      if (::poll(&watched, 1, 10'000) <= 0) return got + "<timeout>";
      char piece[4096];
      const ssize_t count = ::recv(fd_.get(), piece, sizeof piece, 0);
      if (count <= 0) return got;
      got.append(piece, static_cast<size_t>(count));
    }
    return got;
  }
  // All until the peer closes.
  std::string read_all() { return read_until(""); }
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

class ServerTest : public ::testing::Test {
 protected:
  // Adds routes to `router`, then starts.
  void start() {
    server = std::make_unique<Server>(options, router, gate, notifier);
    const Status started = server->start();
    ASSERT_TRUE(started) << started.error().message;
  }
  ClientOptions client_options() const {
    ClientOptions chosen;
    chosen.url = "http://127.0.0.1:" + std::to_string(server->port());
    chosen.token = Secret("good");
    return chosen;
  }
  Client client() const { return Client(client_options()); }
  // Sends bytes on a new connection and returns all that comes back until it is closed.
  std::string exchange(std::string_view bytes) const {
    RawSocket socket(server->port());
    socket.send(bytes);
    return socket.read_all();
  }
  void route(Method method, std::string pattern, Handler handler, Access access = Access::kReader) {
    router.add(Route(method, std::move(pattern), access, std::move(handler)));
  }

  ServerOptions options;
  Router router;
  TokenGate gate;
  Notifier notifier;
  std::unique_ptr<Server> server;
};

}  // namespace slipway::http

// What a peer cannot make the server do: hold connections, wait, queue without end.
#include <sys/resource.h>

#include <latch>
#include <thread>

#include "http/server_fixture.h"

namespace slipway::http {
namespace {

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

class LimitsTest : public ServerTest {
 protected:
  LimitsTest() {
    options.io_threads = 1;
    route(
        Method::kGet, "/", [](const Request&) -> Result<Response> { return empty_response(); },
        Access::kPublic);
    route(
        Method::kGet, "/wait",
        [this](const Request&) -> Result<Response> {
          ++waiting;
          released.wait();
          return empty_response();
        },
        Access::kPublic);
  }
  ~LimitsTest() override {
    if (!released.try_wait()) released.count_down();
  }
  template <class Condition>
  void wait_until(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::atomic<int> waiting = 0;
  std::latch released{1};
};

TEST_F(LimitsTest, AHeaderThatIsTooLargeIsRefused) {
  start();
  EXPECT_EQ(exchange("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(40'000, 'x') + "\r\n\r\n")
                .substr(9, 3),
            "431");
  EXPECT_EQ(
      exchange("GET /" + std::string(40'000, 'x') + " HTTP/1.1\r\nHost: localhost\r\n\r\n").substr(9, 3),
      "431");
  EXPECT_EQ(exchange("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: " +
                     std::string(20'000, 'x') + "\r\n\r\n")
                .substr(9, 3),
            "204");
}

TEST_F(LimitsTest, AHeaderThatDripsInIsCutOff) {
  options.limits.header_time = std::chrono::seconds(1);
  start();
  RawSocket socket(server->port());
  const auto begun = std::chrono::steady_clock::now();
  std::thread drip([&] {
    for (int i = 0; i < 100 && socket.send(i == 0 ? "GET / HTTP/1.1\r\nX: " : "x"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  });
  const std::string answer = socket.read_until("\r\n\r\n");
  EXPECT_EQ(answer.substr(9, 3), "408");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(4));
  drip.join();
}

TEST_F(LimitsTest, AnIdleConnectionIsClosed) {
  options.limits.idle_time = std::chrono::seconds(1);
  start();
  RawSocket silent(server->port());
  RawSocket served(server->port());
  served.send(kGet);
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_NE(served.read_all().find("204"), std::string::npos);
}

TEST_F(LimitsTest, TheOldestIdleConnectionMakesRoomForANewOne) {
  options.limits.connections = 3;
  start();
  RawSocket first(server->port());
  first.send(kGet);
  first.read_until("\r\n\r\n");
  RawSocket second(server->port());
  second.send(kGet);
  second.read_until("\r\n\r\n");
  RawSocket third(server->port());
  wait_until([&] { return server->counters().open_connections == 3; });
  RawSocket fourth(server->port());
  EXPECT_EQ(first.read_all(), "");
  fourth.send(kGet);
  EXPECT_NE(fourth.read_until("\r\n\r\n").find("204"), std::string::npos);
  second.send(kGet);
  EXPECT_NE(second.read_until("\r\n\r\n").find("204"), std::string::npos);
}

TEST_F(LimitsTest, WithoutAnIdleConnectionANewOneIsRefused) {
  options.limits.connections = 1;
  start();
  RawSocket busy(server->port());
  busy.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
  wait_until([&] { return waiting == 1; });
  RawSocket refused(server->port());
  const std::string answer = refused.read_all();
  EXPECT_EQ(answer.substr(9, 3), "503");
  EXPECT_NE(answer.find("Retry-After: 1"), std::string::npos);
  EXPECT_EQ(server->counters().rejected_connections, 1U);
  released.count_down();
  EXPECT_NE(busy.read_until("\r\n\r\n").find("204"), std::string::npos);
}

TEST_F(LimitsTest, RequestsBeyondTheQueueAreSentAway) {
  options.workers = 1;
  options.limits.queued_requests = 2;
  start();
  std::vector<std::unique_ptr<RawSocket>> sockets;
  for (int i = 0; i < 4; ++i) {
    sockets.push_back(std::make_unique<RawSocket>(server->port()));
    sockets.back()->send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
    if (i == 0) wait_until([&] { return waiting == 1; });
    wait_until([&] { return server->counters().requests == static_cast<uint64_t>(i) + 1; });
  }
  const std::string sent_away = sockets[3]->read_until("\r\n\r\n");
  EXPECT_EQ(sent_away.substr(9, 3), "503");
  EXPECT_NE(sent_away.find("Retry-After: 1"), std::string::npos);
  released.count_down();
  for (int i = 0; i < 3; ++i)
    EXPECT_NE(sockets[static_cast<size_t>(i)]->read_until("\r\n\r\n").find("204"), std::string::npos);
}

TEST_F(LimitsTest, SurvivesWithoutDescriptorsAndRecovers) {
  start();
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  std::vector<std::unique_ptr<RawSocket>> clients;
  clients.reserve(8);
  for (int i = 0; i < 8; ++i) clients.push_back(std::make_unique<RawSocket>(server->port()));
  wait_until([&] { return server->counters().open_connections == 8; });
  // From here on no descriptor is left to the whole process; the sockets of the next clients exist already.
  std::vector<UniqueFd> filler;
  RawSocket early(server->port());
  wait_until([&] { return server->counters().open_connections == 9; });
  const UniqueFd late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const rlimit tight{static_cast<rlim_t>(late.get()) + 1, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &tight);
  for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) filler.emplace_back(fd);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(late.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  char byte = 0;
  EXPECT_LE(::recv(late.get(), &byte, 1, 0), 0) << "the peer is told at once";
  early.send(kGet);
  EXPECT_NE(early.read_until("\r\n\r\n").find("204"), std::string::npos);
  filler.clear();
  ::setrlimit(RLIMIT_NOFILE, &before);
  RawSocket again(server->port());
  again.send(kGet);
  EXPECT_NE(again.read_until("\r\n\r\n").find("204"), std::string::npos);
}

TEST_F(LimitsTest, StoppingWaitsForAHandlerAndSendsItsAnswer) {
  start();
  RawSocket busy(server->port());
  RawSocket idle(server->port());
  RawSocket half(server->port());
  half.send("GET / HT");
  busy.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
  wait_until([&] { return waiting == 1 && server->counters().open_connections == 3; });
  std::thread stopper([&] { server->stop(); });
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_EQ(half.read_all(), "");
  released.count_down();
  const std::string answer = busy.read_all();
  EXPECT_NE(answer.find("204"), std::string::npos);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  stopper.join();
  EXPECT_EQ(server->counters().open_connections, 0U);
}

TEST_F(LimitsTest, StoppingCutsATransferThatDoesNotEnd) {
  router.add(Route(
      Method::kPut, "/upload", Access::kPublic,
      [this](const Request& request) -> Result<Response> {
        ++waiting;
        for (;;) {
          SLIPWAY_ASSIGN(const std::string_view piece, request.stream->next());
          if (piece.empty()) return empty_response();
        }
      },
      BodyMode::kStreamed, 1 << 30));
  start();
  RawSocket stuck(server->port());
  stuck.send("PUT /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc");
  wait_until([&] { return waiting == 1; });
  const auto begun = std::chrono::steady_clock::now();
  server->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(8));
  server->stop();  // once more does no harm
}

TEST_F(LimitsTest, ManyIdleConnectionsCostLittle) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const size_t count = std::min<size_t>(3000, (files.rlim_cur - 200) / 2);
  start();
  std::vector<std::unique_ptr<RawSocket>> sockets;
  for (size_t i = 0; i < count; ++i) {
    sockets.push_back(std::make_unique<RawSocket>(server->port()));
    ASSERT_TRUE(sockets.back()->connected());
  }
  wait_until([&] { return server->counters().open_connections == count; });
  Client caller = client();
  EXPECT_EQ(caller.send({.target = "/"})->status, 204);
}

}  // namespace
}  // namespace slipway::http

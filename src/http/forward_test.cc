// A server that passes requests on, with real servers behind it.
#include <mutex>
#include <thread>

#include "http/list_gateway.h"
#include "http/listener.h"
#include "http/server_fixture.h"

namespace slipway::http {
namespace {

// Takes one connection and does with it what a test says.
class OneShotServer {
 public:
  explicit OneShotServer(std::function<void(int fd)> act)
      : listener_(*Listener::open(ServerOptions())), thread_([this, act = std::move(act)] {
          pollfd watched{listener_.fd(), POLLIN, 0};
          if (::poll(&watched, 1, 10'000) <= 0) return;
          UniqueFd connection(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
          act(connection.get());
        }) {}
  ~OneShotServer() { thread_.join(); }
  uint16_t port() const { return listener_.port(); }

 private:
  Listener listener_;
  std::thread thread_;
};

void read_request(int fd) {
  char piece[4096];
  (void)::recv(fd, piece, sizeof piece, 0);
}

uint16_t closed_port() {
  const auto listener = Listener::open(ServerOptions());
  return listener->port();
}

class ForwardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    behind_router.add(Route(
        Method::kPost, "/echo", Access::kReader,
        [](const Request& request) -> Result<Response> {
          Response response = text_response(request.body);
          for (const char* name : {"x-request-id", "x-mine", "te", "x-hop", "host"})
            response.headers[std::string("saw-") + name] = request.header(name).value_or("none");
          response.headers["query"] = request.query_value("q").value_or("none");
          return response;
        },
        BodyMode::kBuffered, 64 << 20));
    behind_router.add(Route(Method::kGet, "/large", Access::kPublic, [](const Request&) -> Result<Response> {
      return text_response(std::string(9'000'000, 'z'));
    }));
    behind_router.add(Route(
        Method::kPost, "/small", Access::kPublic,
        [](const Request&) -> Result<Response> { return text_response("taken"); }, BodyMode::kBuffered, 100));
    behind = std::make_unique<Server>(ServerOptions(), behind_router, gate, notifier);
    ASSERT_TRUE(behind->start());
  }
  void start() {
    server = std::make_unique<Server>(options, router, gate, notifier, &gateway);
    ASSERT_TRUE(server->start());
  }
  Client client(uint16_t port = 0) const {
    ClientOptions chosen;
    chosen.url = "http://127.0.0.1:" + std::to_string(port != 0 ? port : server->port());
    chosen.token = Secret("the client's own");
    return Client(chosen);
  }
  std::string exchange(std::string_view bytes) const {
    RawSocket socket(server->port());
    socket.send(bytes);
    return socket.read_all();
  }

  Notifier notifier;
  TokenGate gate;
  Router behind_router;
  Router router;
  ServerOptions options;
  ListGateway gateway;
  std::unique_ptr<Server> behind;
  std::unique_ptr<Server> server;
};

TEST_F(ForwardTest, CarriesARequestThereAndTheAnswerBack) {
  gateway.add(behind->port(), "good");
  start();
  Client sender = client();
  for (int i = 0; i < 3; ++i) {
    const auto answer = sender.send({.method = Method::kPost,
                                     .target = "/services/x/echo?q=a%20b",
                                     .headers = {{"X-Mine", "1"}, {"X-Request-Id", "theirs"}},
                                     .body = "hello"});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "hello");
    EXPECT_EQ(answer->headers.at("saw-x-mine"), "1");
    EXPECT_EQ(answer->headers.at("query"), "a b");
    EXPECT_EQ(answer->headers.at("saw-x-request-id"), "id-7");
    EXPECT_EQ(answer->headers.at("x-request-id"), "id-7");
  }
  EXPECT_EQ(behind->counters().open_connections, 1U) << "the connection is kept for the next request";
  gateway.seen_soon(3);
  EXPECT_EQ(gateway.upstreams[0]->under_way, 0);
}

TEST_F(ForwardTest, LeavesWhatBelongsToOneConnectionThere) {
  gateway.add(behind->port(), "good");
  start();
  const std::string answer = exchange(
      "POST /services/x/echo HTTP/1.1\r\nHost: localhost\r\nTE: trailers\r\nX-Hop: a\r\nX-Mine: b\r\n"
      "Connection: close, X-Hop\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_TRUE(answer.contains("saw-te: none")) << answer;
  EXPECT_TRUE(answer.contains("saw-x-hop: none")) << answer;
  EXPECT_TRUE(answer.contains("saw-x-mine: b")) << answer;
  EXPECT_TRUE(answer.contains("Connection: close")) << answer;
}

TEST_F(ForwardTest, CarriesLargeAndChunkedBodies) {
  gateway.add(behind->port(), "good");
  start();
  const std::string large(9'000'000, 'y');
  Client sender = client();
  const auto back = sender.send({.method = Method::kPost, .target = "/services/x/echo", .body = large});
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(back->body == large);
  const auto got = sender.send({.method = Method::kGet, .target = "/services/x/large"});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->body.size(), 9'000'000U);
  const std::string chunks = exchange(
      "POST /services/x/echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: "
      "chunked\r\n\r\n"
      "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
  EXPECT_TRUE(chunks.ends_with("\r\n\r\nabcdefg")) << chunks;
}

TEST_F(ForwardTest, AnswersHeadWithoutABody) {
  gateway.add(behind->port());
  start();
  const std::string answer =
      exchange("HEAD /services/x/large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.contains("Content-Length: 9000000")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST_F(ForwardTest, PassesChunksOnAsTheyCome) {
  OneShotServer slow([](int fd) {
    read_request(fd);
    const std::string_view first = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n";
    (void)::send(fd, first.data(), first.size(), MSG_NOSIGNAL);
    char go = 0;
    (void)::recv(fd, &go, 1, 0);  // ends when the test closes its side, or below
  });
  gateway.add(slow.port());
  options.grace_to_stop = std::chrono::milliseconds(50);
  start();
  RawSocket socket(server->port());
  socket.send("GET /services/x/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(socket.read_until("first").contains("Transfer-Encoding: chunked"));
  server->stop();
}

TEST_F(ForwardTest, TriesAnotherServerWhenOneDoesNotAnswer) {
  gateway.add(closed_port());
  gateway.add(behind->port(), "good");
  start();
  const auto answer = client().send({.method = Method::kPost, .target = "/services/x/echo", .body = "hello"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(gateway.seen_soon(2), (std::vector{PassageEnd::kNotConnected, PassageEnd::kAnswered}));
}

TEST_F(ForwardTest, SaysWhenNobodyIsThere) {
  gateway.add(closed_port());
  start();
  Client sender = client();
  const auto answer = sender.send({.method = Method::kPost, .target = "/services/x/echo", .body = "hello"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  const auto again = sender.send({.method = Method::kPost, .target = "/services/x/echo", .body = "hello"});
  ASSERT_TRUE(again) << "the connection goes on";
}

TEST_F(ForwardTest, AnswersItselfWhenTheServerGoesAwayInTheMiddle) {
  OneShotServer rude([](int fd) { read_request(fd); });
  gateway.add(rude.port());
  start();
  const auto answer = client().send({.method = Method::kPost, .target = "/services/x/echo", .body = "hello"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 502);
  EXPECT_EQ(gateway.seen_soon(1), std::vector{PassageEnd::kBroken});
}

TEST_F(ForwardTest, RepeatsWhatMayBeDoneTwiceAtAnotherServer) {
  OneShotServer goes_away(read_request);
  gateway.add(goes_away.port());
  gateway.add(behind->port(), "good");
  gateway.repeatable = true;
  start();
  RawSocket socket(server->port());
  socket.send(
      "POST /services/x/echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 5\r\n\r\n");
  socket.send("twice");
  const std::string answer = socket.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\ntwice")) << answer;
  EXPECT_EQ(gateway.seen_soon(2), (std::vector{PassageEnd::kNotConnected, PassageEnd::kAnswered}));
}

TEST_F(ForwardTest, RepeatsNothingThatNoOtherServerTakes) {
  OneShotServer goes_away(read_request);
  gateway.add(goes_away.port());
  gateway.repeatable = true;
  start();
  Client sender = client();
  const auto answer = sender.send({.method = Method::kPost, .target = "/services/x/echo", .body = "hello"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 502) << "and not that nobody is there";
  EXPECT_TRUE(answer->body.contains("went away in the middle")) << answer->body;
}

TEST_F(ForwardTest, RepeatsNothingOnceAnAnswerHasBegun) {
  OneShotServer breaks_off([](int fd) {
    read_request(fd);
    (void)::send(fd, "HTTP/1.1 200", 12, MSG_NOSIGNAL);
  });
  gateway.add(breaks_off.port());
  gateway.add(behind->port(), "good");
  gateway.repeatable = true;
  start();
  const auto answer = client().send({.method = Method::kPost, .target = "/services/x/echo", .body = "hello"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 502);
  EXPECT_EQ(gateway.seen_soon(1), std::vector{PassageEnd::kBroken});
}

TEST_F(ForwardTest, KeepsRequestsApartWhenTheFirstOfTwoFails) {
  OneShotServer goes_away(read_request);
  gateway.add(goes_away.port());
  gateway.answer_time = std::chrono::milliseconds(300);  // nobody answers the second
  start();
  const std::string answer = exchange(
      "POST /services/x/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nfirst"
      "GET /services/x/echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 50")) << answer;
  EXPECT_NE(answer.find("HTTP/1.1 50", 1), std::string::npos) << answer;
  EXPECT_FALSE(answer.contains("HTTP/1.1 400 ")) << "the second was read as part of the first: " << answer;
}

TEST_F(ForwardTest, AnswersItselfWhenTheServerIsLate) {
  OneShotServer mute([](int fd) {
    read_request(fd);
    pollfd watched{fd, POLLIN, 0};
    ::poll(&watched, 1, 10'000);
  });
  gateway.add(mute.port());
  gateway.answer_time = std::chrono::milliseconds(50);
  start();
  const auto answer = client().send({.method = Method::kPost, .target = "/services/x/echo", .body = "hello"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 504);
  EXPECT_EQ(gateway.seen_soon(1), std::vector{PassageEnd::kLate});
}

TEST_F(ForwardTest, CutsAnAnswerThatEndsTooSoon) {
  OneShotServer brief([](int fd) {
    read_request(fd);
    const std::string_view part = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this";
    (void)::send(fd, part.data(), part.size(), MSG_NOSIGNAL);
  });
  gateway.add(brief.port());
  start();
  const auto answer = client().send({.method = Method::kGet, .target = "/services/x/echo"});
  EXPECT_FALSE(answer);
  gateway.seen_soon(1);
  EXPECT_EQ(gateway.upstreams[0]->under_way, 0);
}

TEST_F(ForwardTest, PassesOnAnAnswerThatComesBeforeTheBodyIsSent) {
  gateway.add(behind->port());
  start();
  const auto answer = client().send(
      {.method = Method::kPost, .target = "/services/x/small", .body = std::string(20'000'000, 'q')});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 413);
}

TEST_F(ForwardTest, PassesOnAnAnswerThatComesWhileTheClientIsSilent) {
  gateway.add(behind->port());
  start();
  RawSocket socket(server->port());
  socket.send("POST /services/x/small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\nonly this");
  EXPECT_TRUE(socket.read_all().starts_with("HTTP/1.1 413"));
}

TEST_F(ForwardTest, RefusesFieldsOverSeveralLines) {
  gateway.add(behind->port());
  start();
  const std::string answer = exchange(
      "GET /services/x/large HTTP/1.1\r\nHost: localhost\r\nX-Long: a\r\n b\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400")) << answer;
  EXPECT_TRUE(gateway.seen().empty());
}

TEST_F(ForwardTest, OpensAndClosesDoors) {
  gateway.add(behind->port(), "good");
  start();
  const auto port = server->open_door("x", 0);
  ASSERT_TRUE(port);
  EXPECT_EQ(*server->open_door("x", 0), *port) << "it is the same door";
  const auto answer = client(*port).send({.method = Method::kPost, .target = "/echo", .body = "through"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "through");
  EXPECT_FALSE(server->open_door("y", *port)) << "the port is taken";
  server->close_door("x");
  for (int i = 0; i < 1000 && RawSocket(*port).connected(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(RawSocket(*port).connected());
  const auto again = server->open_door("x", *port);
  ASSERT_TRUE(again) << again.error().message;
}

TEST_F(ForwardTest, KeepsItsOwnRoutesBeside) {
  router.add(Route(Method::kGet, "/own", Access::kPublic,
                   [](const Request&) -> Result<Response> { return text_response("mine"); }));
  start();
  EXPECT_EQ(client().send({.method = Method::kGet, .target = "/own"})->body, "mine");
}

}  // namespace
}  // namespace slipway::http

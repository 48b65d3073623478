#include "http/client.h"

#include <latch>
#include <thread>

#include "http/address.h"
#include "http/server_fixture.h"

namespace slipway::http {
namespace {

// Answers each connection with what the test says, byte for byte.
class CannedServer {
 public:
  using Serve = std::function<void(int connection, int number)>;
  explicit CannedServer(Serve serve) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::listen(listener_.get(), 10);
    socklen_t size = sizeof address;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, serve = std::move(serve)] {
      for (int number = 0;; ++number) {
        const UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!connection) return;
        serve(connection.get(), number);
      }
    });
  }
  ~CannedServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  Client client(std::chrono::milliseconds answer_time = std::chrono::seconds(10)) const {
    return Client({.url = "http://127.0.0.1:" + std::to_string(port_), .answer_time = answer_time});
  }
  // Reads one request's head; false at the end.
  static bool read_request(int connection) {
    std::string got;
    char byte = 0;
    while (!got.ends_with("\r\n\r\n")) {
      if (::recv(connection, &byte, 1, 0) != 1) return false;
      got += byte;
    }
    return true;
  }
  static void answer(int connection, std::string_view bytes) {
    EXPECT_EQ(::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

 private:
  UniqueFd listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST(Address, IsReadFromAUrl) {
  const auto plain = parse_address("http://127.0.0.1:7070/");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "127.0.0.1");
  EXPECT_EQ(plain->port, "7070");
  EXPECT_EQ(parse_address("https://box.example")->port, "443");
  EXPECT_EQ(parse_address("http://[::1]:80")->host, "::1");
  for (const char* bad : {"", "127.0.0.1:7070", "ftp://x", "http://", "http://:80",
                          "http://x:", "http://x:1/path", "http://u@x", "http://x:99999999", "http://x:8a",
                          "http://::1:80", "http://a b", "http://x\r\nEvil: y"})
    EXPECT_FALSE(parse_address(bad)) << bad;
}

TEST(Client, SaysThatNothingAnswers) {
  uint16_t free_port = 0;
  {
    const CannedServer gone([](int, int) {});
    Client probe = gone.client();
    free_port = static_cast<uint16_t>(std::stoi(probe.options().url.substr(17)));
  }
  Client caller({.url = "http://127.0.0.1:" + std::to_string(free_port)});
  const auto answer = caller.send({.target = "/"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnreachable);
  EXPECT_NE(answer.error().next.find("slipway up"), std::string::npos);
}

TEST(Client, RepeatsOnANewConnectionWhatIsSafeToRepeat) {
  // The first answer keeps the connection; the second request on it is met by a close.
  std::atomic<int> requests = 0;
  const CannedServer server([&](int connection, int) {
    while (CannedServer::read_request(connection)) {
      if (++requests % 2 == 0) return;
      CannedServer::answer(connection, kOk);
    }
  });
  Client caller = server.client();
  EXPECT_TRUE(caller.send({.target = "/"}));
  EXPECT_TRUE(caller.send({.target = "/"}));
  EXPECT_EQ(requests, 3);
  const auto post = caller.send({.method = Method::kPost, .target = "/"});
  ASSERT_FALSE(post);
  EXPECT_EQ(post.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(caller.send({.method = Method::kPost, .target = "/"}));
  EXPECT_TRUE(caller.send({.method = Method::kPost, .target = "/", .headers = {{"Idempotency-Key", "k"}}}));
}

TEST(Client, DoesNotRepeatOnceAnAnswerHasBegun) {
  std::atomic<int> requests = 0;
  const CannedServer server([&](int connection, int) {
    CannedServer::read_request(connection);
    ++requests;
    CannedServer::answer(connection, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
  });
  Client caller = server.client();
  const auto answer = caller.send({.target = "/"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(requests, 1);
}

TEST(Client, NoticesAConnectionThatWasClosedMeanwhile) {
  std::latch closed(1);
  const CannedServer server([&](int connection, int number) {
    CannedServer::read_request(connection);
    CannedServer::answer(connection, kOk);
    ::shutdown(connection, SHUT_RDWR);
    if (number == 0) closed.count_down();
  });
  Client caller = server.client();
  EXPECT_TRUE(caller.send({.method = Method::kPost, .target = "/"}));
  closed.wait();
  EXPECT_TRUE(caller.send({.method = Method::kPost, .target = "/"}));
}

TEST(Client, GivesUpOnAServerThatDoesNotAnswer) {
  std::latch done(1);
  const CannedServer server([&](int, int) { done.wait(); });
  Client caller = server.client(std::chrono::milliseconds(100));
  const auto answer = caller.send({.target = "/"});
  done.count_down();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kTimeout);
}

TEST(Client, IsInterruptedFromAnotherThread) {
  std::latch done(1);
  std::latch asked(1);
  const CannedServer server([&](int connection, int number) {
    CannedServer::read_request(connection);
    if (number > 0) return CannedServer::answer(connection, kOk);
    asked.count_down();
    done.wait();
  });
  Client caller = server.client();
  std::thread other([&] {
    asked.wait();
    caller.interrupt();
  });
  const auto answer = caller.send({.target = "/"});
  other.join();
  done.count_down();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(caller.send({.target = "/"})) << "the interrupt was for one call";
}

TEST(Client, ReadsEveryKindOfFraming) {
  const CannedServer server([](int connection, int number) {
    CannedServer::read_request(connection);
    if (number == 0)
      CannedServer::answer(
          connection,
          "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: "
          "close\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
    if (number == 1) CannedServer::answer(connection, "HTTP/1.0 200 OK\r\n\r\nuntil the end");
    if (number == 2) CannedServer::answer(connection, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    if (number == 3)
      CannedServer::answer(connection, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab");
    if (number == 4) CannedServer::answer(connection, "SSH-2.0-OpenSSH_9.2\r\n\r\n");
  });
  Client caller = server.client();
  EXPECT_EQ(caller.send({.target = "/"})->body, "abcdefg");
  EXPECT_EQ(caller.send({.target = "/"})->body, "until the end");
  EXPECT_EQ(caller.send({.target = "/"})->status, 204);
  EXPECT_FALSE(caller.send({.target = "/"}));
  EXPECT_FALSE(caller.send({.target = "/"}));
}

TEST(Client, LetsNothingOutThatWouldEndAHeader) {
  Client caller({.url = "http://127.0.0.1:1"});
  for (const Call& call : {Call{.target = "/ HTTP/1.1\r\nX: y"}, Call{.target = "no-slash"},
                           Call{.target = "/a b"}, Call{.target = "/", .headers = {{"X", "a\r\nY: b"}}},
                           Call{.target = "/", .headers = {{"X: y", "b"}}}}) {
    const auto answer = caller.send(call);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(Client, LooksAtTheHeadBeforeTheBodyAndMayRefuseIt) {
  const CannedServer server([](int connection, int) {
    CannedServer::read_request(connection);
    CannedServer::answer(connection, kOk);
  });
  Client caller = server.client();
  std::string order;
  const auto taken = caller.send({.target = "/",
                                  .sink = [&](std::string_view bytes) -> Status {
                                    order += bytes;
                                    return {};
                                  },
                                  .on_head = [&](const ClientResponse& head) -> Status {
                                    order += std::to_string(head.status);
                                    return {};
                                  }});
  EXPECT_TRUE(taken);
  EXPECT_EQ(order, "200ok");
  const auto refused = caller.send({.target = "/", .on_head = [](const ClientResponse&) -> Status {
                                      return fail(ErrorCode::kConflict, "another file by now");
                                    }});
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
}

TEST(Client, SourceErrorsEndTheCall) {
  const CannedServer server([](int connection, int) {
    char piece[1000];
    while (::recv(connection, piece, sizeof piece, 0) > 0) {
    }
  });
  Client caller = server.client();
  const auto failed = caller.send({.method = Method::kPut,
                                   .target = "/",
                                   .source = []() -> Result<std::string_view> {
                                     return fail(ErrorCode::kConflict, "the file changed while it was read");
                                   },
                                   .source_length = 10});
  EXPECT_EQ(failed.error().code, ErrorCode::kConflict);
  const auto shorter = caller.send({.method = Method::kPut,
                                    .target = "/",
                                    .source = []() -> Result<std::string_view> { return ""; },
                                    .source_length = 10});
  EXPECT_EQ(shorter.error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace slipway::http

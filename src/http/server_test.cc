#include "http/server.h"

#include "http/server_fixture.h"

namespace slipway::http {
namespace {

TEST_F(ServerTest, AnswersWithTheHandlersResponse) {
  route(Method::kGet, "/hello/{name}", [](const Request& request) -> Result<Response> {
    return json_response({{"name", request.param("name")}, {"by", request.caller.name}});
  });
  start();
  Client caller = client();
  const auto answer = caller.json_call(Method::kGet, "/hello/w%C3%B6rld");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->at("name").as_string(), "w\u00f6rld");
  EXPECT_EQ(answer->at("by").as_string(), "tester");
}

TEST_F(ServerTest, KeepsTheConnectionForFurtherRequests) {
  route(Method::kPost, "/echo",
        [](const Request& request) -> Result<Response> { return text_response(request.body); });
  start();
  Client caller = client();
  for (int i = 0; i < 50; ++i) {
    const std::string body = "message " + std::to_string(i);
    const auto answer = caller.call({.method = Method::kPost, .target = "/echo", .body = body});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, body);
  }
  EXPECT_EQ(server->counters().open_connections, 1U);
  EXPECT_EQ(server->counters().requests, 50U);
}

TEST_F(ServerTest, AnswersErrorsAsJsonWithoutTheDetail) {
  route(Method::kGet, "/full", [](const Request&) -> Result<Response> {
    return fail({ErrorCode::kStorageFull, "the disk is full", "free some space", "inner detail"});
  });
  start();
  Client caller = client();
  const auto answer = caller.send({.target = "/full"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 507);
  EXPECT_EQ(answer->headers.at("content-type"), "application/json");
  EXPECT_EQ(answer->headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(answer->headers.at("cache-control"), "no-store");
  EXPECT_TRUE(answer->headers.contains("retry-after"));
  EXPECT_EQ(answer->body,
            R"({"error":{"code":"storage_full","message":"the disk is full","next":"free some space"}})");
  const auto error = caller.call({.target = "/full"});
  EXPECT_EQ(error.error().code, ErrorCode::kStorageFull);
  EXPECT_EQ(error.error().next, "free some space");
}

TEST_F(ServerTest, LivesOnAfterAHandlerThrows) {
  route(Method::kGet, "/throw", [](const Request&) -> Result<Response> { throw std::bad_alloc(); });
  route(Method::kGet, "/odd", [](const Request&) -> Result<Response> { throw 7; });
  route(Method::kGet, "/fine", [](const Request&) -> Result<Response> { return empty_response(); });
  start();
  Client caller = client();
  EXPECT_EQ(caller.send({.target = "/throw"})->status, 500);
  EXPECT_EQ(caller.send({.target = "/odd"})->status, 500);
  EXPECT_EQ(caller.send({.target = "/fine"})->status, 204);
}

TEST_F(ServerTest, RefusesUnknownPathsWrongMethodsAndBadEscapes) {
  route(Method::kGet, "/runs/{run}", [](const Request&) -> Result<Response> { return empty_response(); });
  route(Method::kDelete, "/runs/{run}", [](const Request&) -> Result<Response> { return empty_response(); });
  start();
  Client caller = client();
  EXPECT_EQ(caller.send({.target = "/nowhere"})->status, 404);
  EXPECT_EQ(caller.send({.target = "/runs/%zz"})->status, 400);
  EXPECT_EQ(caller.send({.target = "/runs/x?a=%00"})->status, 400);
  const auto wrong = caller.send({.method = Method::kPost, .target = "/runs/x"});
  EXPECT_EQ(wrong->status, 405);
  EXPECT_EQ(wrong->headers.at("allow"), "GET, HEAD, DELETE");
  EXPECT_NE(
      exchange("TRACE /runs/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").find("405 Method"),
      std::string::npos);
}

TEST_F(ServerTest, AsksTheAuthoriserBeforeTheHandler) {
  std::atomic<int> handled = 0;
  route(Method::kGet, "/private", [&](const Request&) -> Result<Response> {
    ++handled;
    return empty_response();
  });
  route(
      Method::kGet, "/health", [](const Request&) -> Result<Response> { return empty_response(); },
      Access::kPublic);
  start();
  ClientOptions chosen = client_options();
  chosen.token = Secret("bad");
  Client stranger(chosen);
  EXPECT_EQ(stranger.send({.target = "/private"})->status, 401);
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(stranger.send({.target = "/health"})->status, 204);
}

TEST_F(ServerTest, ServesHeadFromTheGetRouteWithoutABody) {
  route(Method::kGet, "/text",
        [](const Request&) -> Result<Response> { return text_response("twelve bytes"); });
  start();
  Client caller = client();
  const auto head = caller.send({.method = Method::kHead, .target = "/text"});
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->headers.at("content-length"), "12");
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(caller.send({.target = "/text"})->body, "twelve bytes");
  EXPECT_EQ(server->counters().open_connections, 1U);
}

TEST_F(ServerTest, AnswersOnlyToItsOwnNamesOnLoopback) {
  options.allowed_hosts = {"box.local"};
  route(
      Method::kGet, "/", [](const Request&) -> Result<Response> { return empty_response(); },
      Access::kPublic);
  start();
  const auto status_for = [&](std::string_view fields) {
    return exchange("GET / HTTP/1.1\r\n" + std::string(fields) + "Connection: close\r\n\r\n").substr(9, 3);
  };
  EXPECT_EQ(status_for("Host: localhost:7070\r\n"), "204");
  EXPECT_EQ(status_for("Host: 127.0.0.1\r\n"), "204");
  EXPECT_EQ(status_for("Host: [::1]:80\r\n"), "204");
  EXPECT_EQ(status_for("Host: BOX.local:1\r\n"), "204");
  EXPECT_EQ(status_for("Host: evil.example\r\n"), "403");
  EXPECT_EQ(status_for("Host: localhost.evil.example\r\n"), "403");
  EXPECT_EQ(status_for(""), "400");
  EXPECT_EQ(status_for("Host: localhost\r\nHost: evil\r\n"), "400");
  EXPECT_EQ(status_for("Host: localhost:7070\r\nOrigin: http://localhost:7070\r\n"), "204");
  EXPECT_EQ(status_for("Host: localhost:7070\r\nOrigin: http://evil.example\r\n"), "403");
  EXPECT_EQ(status_for("Host: localhost:7070\r\nOrigin: null\r\n"), "403");
}

TEST_F(ServerTest, RefusesWhatIsNotHttp) {
  route(
      Method::kPost, "/", [](const Request&) -> Result<Response> { return empty_response(); },
      Access::kPublic);
  start();
  const std::string host = "Host: localhost\r\n";
  EXPECT_EQ(exchange("\x16\x03\x01 this is not HTTP\r\n\r\n").substr(9, 3), "400");
  EXPECT_EQ(exchange("POST / HTTP/1.1\r\n" + host +
                     "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
                .substr(9, 3),
            "400");
  EXPECT_EQ(exchange("POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd")
                .substr(9, 3),
            "400");
  EXPECT_EQ(exchange("POST / HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n").substr(9, 3), "400");
  EXPECT_EQ(exchange("POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip\r\n\r\n").substr(9, 3), "501");
  EXPECT_EQ(exchange("POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")
                .substr(9, 3),
            "501");
  EXPECT_EQ(exchange("POST / HTTP/1.1\r\n" + host + "X: a\rb\r\n\r\n").substr(9, 3), "400");
  EXPECT_EQ(exchange("POST / HTTP/1.1\r\n" + host + "X : y\r\n\r\n").substr(9, 3), "400");
  EXPECT_EQ(
      exchange("POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n").substr(9, 3),
      "400");
  EXPECT_EQ(
      exchange("POST / HTTP/1.1\r\n" + host + "Expect: wonders\r\nContent-Length: 1\r\n\r\nx").substr(9, 3),
      "417");
  EXPECT_EQ(exchange("POST http://localhost/ HTTP/1.1\r\n" + host +
                     "Content-Length: 0\r\nConnection: close\r\n\r\n")
                .substr(9, 3),
            "400");
  EXPECT_EQ(exchange("POST / HTTP/3.0\r\n\r\n").substr(9, 3), "400");
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  route(
      Method::kPost, "/echo",
      [](const Request& request) -> Result<Response> { return text_response(request.body); },
      Access::kPublic);
  start();
  const std::string fields = " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n";
  const std::string all = exchange("POST /echo" + fields + "\r\nonePOST /echo" + fields +
                                   "\r\ntwoPOST /echo" + fields + "Connection: close\r\n\r\nend");
  EXPECT_LT(all.find("one"), all.find("two"));
  EXPECT_LT(all.find("two"), all.find("end"));
  EXPECT_NE(all.find("end"), std::string::npos);
}

TEST_F(ServerTest, AnswersAClientThatHasEndedItsSide) {
  route(
      Method::kGet, "/", [](const Request&) -> Result<Response> { return text_response("still here"); },
      Access::kPublic);
  start();
  RawSocket socket(server->port());
  socket.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  socket.end_sending();
  EXPECT_NE(socket.read_all().find("still here"), std::string::npos);
}

TEST_F(ServerTest, SpeaksHttp10) {
  route(
      Method::kGet, "/", [](const Request&) -> Result<Response> { return text_response("old"); },
      Access::kPublic);
  start();
  const std::string answer = exchange("GET / HTTP/1.0\r\n\r\n");
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  EXPECT_NE(answer.find("\r\n\r\nold"), std::string::npos);
}

TEST_F(ServerTest, SaysWhyItCannotListen) {
  start();
  ServerOptions same = options;
  same.port = server->port();
  Server second(same, router, gate, notifier);
  const Status taken = second.start();
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().message.find(std::to_string(same.port)), std::string::npos);
  EXPECT_NE(taken.error().next.find("another port"), std::string::npos);
  same.address = "not an address";
  EXPECT_EQ(Server(same, router, gate, notifier).start().error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace slipway::http

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

}  // namespace
}  // namespace slipway::http

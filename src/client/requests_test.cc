#include "client/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "client/api.h"
#include "client/fake_server.h"

namespace slipway::client {
namespace {

using http::Method;
using testing::HasSubstr;

TEST(Requests, ShowsOneKeyForEachCreateAndKeepsItWhenItAsksAgain) {
  FakeServer server;
  std::vector<std::string> keys;
  int to_lose = 2;
  server.route(Method::kPost, "/things", [&](const http::Request& request) -> Result<http::Response> {
    keys.push_back(request.header("idempotency-key").value_or(""));
    if (to_lose-- > 0) return fail(ErrorCode::kUnavailable, "the answer is lost");
    return http::json_response(json::object{{"id", 1}}, 201);
  });
  server.start();
  Requests requests(server.connection(), FakeServer::quick());
  ASSERT_TRUE(requests.create("/things", {}));
  ASSERT_TRUE(requests.create("/things", {}));
  ASSERT_EQ(keys.size(), 4U);
  EXPECT_EQ(keys[0].size(), 26U);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.begin() + 3).size(), 1U);
  EXPECT_NE(keys[0], keys[3]);
}

TEST(Requests, ReportsAServerThatIsNotThereAtOnce) {
  FakeServer server;
  server.start();
  const Connection connection = server.connection();
  server.stop();
  Requests requests(connection,
                    {.tries = 6, .first_wait = std::chrono::hours(1), .longest_wait = std::chrono::hours(1)});
  const auto answer = requests.get("/x");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnreachable);
  EXPECT_EQ(answer.error().message,
            "no Slipway server answers at " + connection.http.url + ": Connection refused");
  server.start();
}

TEST(Requests, DoesNotRepeatWhatStaysWrong) {
  FakeServer server;
  server.route(Method::kGet, "/x", [](const http::Request&) -> Result<http::Response> {
    return fail(ErrorCode::kNotFound, "there is no x", "look elsewhere");
  });
  server.start();
  Requests requests(server.connection(), FakeServer::quick());
  const auto answer = requests.get("/x");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "there is no x");
  EXPECT_EQ(answer.error().next, "look elsewhere");
  EXPECT_EQ(server.requests, 1);
}

TEST(Requests, TakesAThingThatIsGoneAfterALostAnswerAsRemoved) {
  FakeServer server;
  int calls = 0;
  server.route(Method::kDelete, "/x", [&](const http::Request&) -> Result<http::Response> {
    if (calls++ == 0) return fail(ErrorCode::kUnavailable, "the answer is lost");
    return fail(ErrorCode::kNotFound, "there is no x");
  });
  server.start();
  Requests requests(server.connection(), FakeServer::quick());
  EXPECT_TRUE(requests.remove("/x"));
  EXPECT_FALSE(requests.remove("/x"));
}

TEST(Requests, SaysHowToGiveATokenWhenThereIsNone) {
  FakeServer server;
  server.route(Method::kGet, "/x", [](const http::Request&) { return http::json_response(json::object{}); });
  server.start();
  Connection connection = server.connection();
  connection.http.token = Secret();
  Requests requests(connection, FakeServer::quick());
  EXPECT_THAT(requests.get("/x").error().next, HasSubstr("SLIPWAY_TOKEN"));
}

TEST(Requests, ReadsAListPageByPageUpToItsLimit) {
  FakeServer server;
  server.route(Method::kGet, "/numbers", [](const http::Request& request) -> Result<http::Response> {
    SLIPWAY_ASSIGN(const int64_t limit, request.query_int("limit", 50, 1, 1000));
    SLIPWAY_ASSIGN(const int64_t start, request.query_int("cursor", 0, 0, 10000));
    json::array items;
    for (int64_t i = start; i < std::min<int64_t>(start + limit, 1200); ++i) items.emplace_back(i);
    json::value next = start + limit < 1200 ? json::value(std::to_string(start + limit)) : json::value();
    return http::json_response(json::object{{"items", std::move(items)}, {"next_cursor", std::move(next)}});
  });
  server.start();
  Requests requests(server.connection(), FakeServer::quick());
  EXPECT_EQ(requests.list("/numbers")->size(), 1200U);
  EXPECT_EQ(requests.list("/numbers", {}, 700)->size(), 700U);
  EXPECT_EQ(requests.list("/numbers", {}, 5000)->size(), 1200U);
}

TEST(Requests, EndsAListWhoseCursorDoesNotMove) {
  FakeServer server;
  server.route(Method::kGet, "/same", [](const http::Request&) {
    return http::json_response(json::object{{"items", {1, 2}}, {"next_cursor", "p2"}});
  });
  server.start();
  Requests requests(server.connection(), FakeServer::quick());
  EXPECT_THAT(requests.list("/same").error().message, HasSubstr("does not come to its end"));
}

TEST(Requests, RefusesAnAnswerThatIsNoJson) {
  FakeServer server;
  server.route(Method::kGet, "/x", [](const http::Request&) { return http::text_response("<html>"); });
  server.start();
  Requests requests(server.connection(), FakeServer::quick());
  EXPECT_THAT(requests.get("/x").error().message, HasSubstr("not one of a Slipway server"));
}

TEST(RetryPolicy, DoublesItsWaitsUpToTheLongest) {
  const RetryPolicy policy;
  EXPECT_EQ(policy.wait_after(0).count(), 100);
  EXPECT_EQ(policy.wait_after(1).count(), 200);
  EXPECT_EQ(policy.wait_after(10).count(), 2000);
  EXPECT_EQ(policy.wait_after(100).count(), 2000);
}

// The stream may end in order with the server, not with the run.
TEST(Api, WaitsUntilTheRunItselfHasEnded) {
  FakeServer server;
  const std::string run = "/api/v1/workspaces/{workspace}/runs/{run}";
  int asked = 0;
  server.route(Method::kGet, run + "/events/stream",
               [](const http::Request&) { return http::empty_response(200); });
  server.route(Method::kGet, run, [&](const http::Request&) {
    return http::json_response(json::object{{"id", "r-1"}, {"state", ++asked < 3 ? "Running" : "Completed"}});
  });
  server.start();
  Api api(server.connection(), FakeServer::quick());
  const auto ended = api.wait("r-1");
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_TRUE(ended->completed());
  EXPECT_EQ(asked, 3);
}

TEST(Api, SubmitsAJobAndReadsTheRun) {
  FakeServer server;
  const std::string runs = "/api/v1/workspaces/{workspace}/runs";
  server.route(Method::kPost, runs, [](const http::Request& request) -> Result<http::Response> {
    SLIPWAY_ASSIGN(const json::object body, parse_json_object(request.body, "job"));
    SLIPWAY_ASSIGN(const Job job, job_from_json(body));
    EXPECT_EQ(job.command, (std::vector<std::string>{"python", "train.py"}));
    return http::json_response(json::object{{"id", "default-1"}, {"state", "Queued"}, {"exit_code", nullptr}},
                               201);
  });
  server.route(Method::kGet, runs + "/{run}", [](const http::Request& request) {
    return http::json_response(
        json::object{{"id", request.param("run")}, {"state", "Failed"}, {"exit_code", 7}});
  });
  server.start();
  Api api(server.connection(), FakeServer::quick());
  Job job;
  job.command = {"python", "train.py"};
  const auto run = api.submit(job);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->id.str(), "default-1");
  EXPECT_FALSE(run->ended());
  const auto later = api.run("default-1");
  ASSERT_TRUE(later);
  EXPECT_TRUE(later->ended());
  EXPECT_FALSE(later->completed());
  EXPECT_EQ(later->exit_code, 7);
}

}  // namespace
}  // namespace slipway::client

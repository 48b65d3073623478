#include "services/front_door.h"

#include <gtest/gtest.h>

#include "services/keys.h"

namespace slipway::services {
namespace {

class FrontDoorTest : public ::testing::Test {
 protected:
  Published published(int places) {
    Published service;
    service.primary = Secret("first-key");
    service.secondary = Secret("second-key");
    service.why_none = "it is being started";
    for (int i = 1; i <= places; ++i)
      service.places.push_back(
          {.replica = i, .host = "127.0.0.1", .port = static_cast<uint16_t>(i), .key = Secret("r")});
    return service;
  }
  static http::Head head(std::string target, std::string authorization = "Bearer first-key") {
    http::Head made;
    made.method = "POST";
    made.target = std::move(target);
    if (!authorization.empty()) made.headers["authorization"] = std::move(authorization);
    return made;
  }
  // The replica chosen, or minus the status of the refusal.
  int64_t ask(const http::Head& head, std::string_view through = "", std::vector<uint64_t> tried = {}) {
    auto chosen = door.choose(head, through, tried);
    if (!chosen) {
      refusal = std::get<std::string>(chosen.error().body);
      return -chosen.error().status;
    }
    passages.push_back(*chosen);
    return static_cast<int64_t>(chosen->upstream->id);
  }

  ManualClock clock;
  FrontDoor door{clock};
  std::vector<http::Passage> passages;
  std::string refusal;
};

TEST_F(FrontDoorTest, PicksTheReplicaWithTheFewestRequestsUnderWay) {
  door.publish("svc", published(2));
  const int64_t first = ask(head("/services/svc/score"));
  const int64_t second = ask(head("/services/svc/score"));
  EXPECT_NE(first, second);
  door.ended(passages[1], http::PassageEnd::kAnswered, 200, {});
  EXPECT_EQ(ask(head("/services/svc/score")), second);
  EXPECT_EQ(door.traffic("svc").under_way, 2);
  EXPECT_EQ(door.traffic("svc").requests, 1U);
}

TEST_F(FrontDoorTest, TakesTheNameOffTheAddress) {
  door.publish("svc", published(1));
  ask(head("/services/svc/v1/models/m:predict?x=1"));
  EXPECT_EQ(passages.back().target, "/v1/models/m:predict?x=1");
  ask(head("/services/svc"));
  EXPECT_EQ(passages.back().target, "/");
  ask(head("/services/svc?x=1"));
  EXPECT_EQ(passages.back().target, "/?x=1");
  ask(head("/score?x=1"), "svc");
  EXPECT_EQ(passages.back().target, "/score?x=1");
}

TEST_F(FrontDoorTest, AsksForAKeyInTheHeaderAlone) {
  door.publish("svc", published(1));
  EXPECT_GT(ask(head("/services/svc/score", "Bearer second-key")), 0);
  EXPECT_EQ(ask(head("/services/svc/score", "Bearer third-key")), -401);
  EXPECT_EQ(ask(head("/services/svc/score", "Basic first-key")), -401);
  EXPECT_EQ(ask(head("/services/svc/score", "")), -401);
  EXPECT_EQ(ask(head("/services/svc/score?key=anything", "")), -401);
  EXPECT_TRUE(refusal.contains("address")) << refusal;
  EXPECT_EQ(ask(head("/services/svc/score?x=first-key")), -400) << "even with the header";
  EXPECT_FALSE(refusal.contains("first-key"));
  EXPECT_EQ(ask(head("/services/svc/score", "Bearer slw_abc_def")), -401);
  EXPECT_TRUE(refusal.contains("workspace")) << refusal;
}

TEST_F(FrontDoorTest, LetsMonitorsAskWhetherItIsThere) {
  door.publish("svc", published(1));
  http::Head probe = head("/services/svc/", "");
  EXPECT_EQ(ask(probe), -401) << "to post is not to look";
  probe.method = "GET";
  EXPECT_GT(ask(probe), 0);
}

TEST_F(FrontDoorTest, TakesTokensThatHaveNotExpired) {
  Published service = published(1);
  service.auth = Auth::kToken;
  door.publish("svc", service);
  const Secret token = make_token(Secret("first-key"), {clock.now().micros + 60'000'000});
  EXPECT_GT(ask(head("/services/svc/score", "Bearer " + token.reveal())), 0);
  EXPECT_EQ(ask(head("/services/svc/score", "Bearer first-key")), -401);
  EXPECT_EQ(ask(head("/services/svc/score", "Bearer " + token.reveal() + "0")), -401);
  clock.advance(std::chrono::minutes(2));
  EXPECT_EQ(ask(head("/services/svc/score", "Bearer " + token.reveal())), -401);
}

TEST_F(FrontDoorTest, SaysWhyNobodyAnswers) {
  EXPECT_EQ(ask(head("/services/other/score")), -404);
  door.publish("svc", published(0));
  EXPECT_EQ(ask(head("/services/svc/score")), -503);
  EXPECT_TRUE(refusal.contains("being started")) << refusal;
  door.publish("svc", published(1));
  EXPECT_EQ(ask(head("/services/svc/score"), "", {1}), -502);
  door.remove("svc");
  EXPECT_EQ(ask(head("/services/svc/score")), -404);
}

TEST_F(FrontDoorTest, SpeaksTheErrorsOfEachProtocol) {
  door.publish("svc", published(0));
  ask(head("/services/svc/score"));
  EXPECT_TRUE(refusal.starts_with("{\"message\"")) << refusal;
  ask(head("/services/svc/v2/models/m/infer"));
  EXPECT_TRUE(refusal.starts_with("{\"error\":\"")) << refusal;
}

TEST_F(FrontDoorTest, LeavesAReplicaAloneThatCannotBeConnectedTo) {
  door.publish("svc", published(2));
  const int64_t bad = ask(head("/services/svc/score"));
  door.ended(passages.back(), http::PassageEnd::kNotConnected, 0, {});
  for (int i = 0; i < 5; ++i) EXPECT_NE(ask(head("/services/svc/score")), bad);
  EXPECT_FALSE(door.unreachable(bad));
  for (int i = 0; i < 3; ++i) {
    ask(head("/services/svc/score"), "", {static_cast<uint64_t>(3 - bad)});
    door.ended(passages.back(), http::PassageEnd::kNotConnected, 0, {});
  }
  EXPECT_TRUE(door.unreachable(bad));
}

TEST_F(FrontDoorTest, CountsWhatIsUnderWayAtAReplicaThatIsNotPublishedAnyMore) {
  door.publish("svc", published(2));
  const int64_t first = ask(head("/services/svc/score"));
  door.publish("svc", published(0));
  EXPECT_EQ(door.under_way(first), 1);
  door.ended(passages.back(), http::PassageEnd::kAnswered, 200, {});
  EXPECT_EQ(door.under_way(first), 0);
}

TEST_F(FrontDoorTest, KeepsAnIdOfTheClientThatIsPlain) {
  door.publish("svc", published(1));
  http::Head with_id = head("/services/svc/score");
  with_id.headers["x-request-id"] = "abc-1";
  ask(with_id);
  EXPECT_EQ(passages.back().request_id, "abc-1");
  with_id.headers["x-request-id"] = "a b";
  ask(with_id);
  EXPECT_EQ(passages.back().request_id.size(), 32U);
}

}  // namespace
}  // namespace slipway::services

#include "client/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "client/fake_server.h"

namespace slipway::client {
namespace {

using testing::ElementsAre;

// Sends what is there and ends; `broken` ends it with an error instead, once.
class ListedEvents final : public http::EventSource {
 public:
  ListedEvents(std::vector<http::Event> events, bool ends) : events_(std::move(events)), ends_(ends) {}
  Result<std::vector<http::Event>> next() override { return std::exchange(events_, {}); }
  bool ended() const override { return ends_ && events_.empty(); }
  std::vector<std::string> topics() const override { return {"never"}; }

 private:
  std::vector<http::Event> events_;
  bool ends_;
};

http::Event log_event(uint64_t offset, const std::string& text) {
  return {.id = std::to_string(offset + text.size()),
          .name = "log",
          .data = json::serialize(json::object{{"offset", offset}, {"channel", "stdout"}, {"text", text}})};
}

FollowOptions quick() {
  FollowOptions options;
  options.first_wait = std::chrono::milliseconds(1);
  options.longest_wait = std::chrono::milliseconds(20);
  options.patience = std::chrono::seconds(5);
  return options;
}

TEST(Follower, ReadsAStreamToItsEnd) {
  FakeServer server;
  server.route(http::Method::kGet, "/s", [](const http::Request&) -> Result<http::Response> {
    return http::event_response(
        std::make_shared<ListedEvents>(std::vector<http::Event>{{.id = "1", .name = "state", .data = "a"},
                                                                {.id = "2", .name = "state", .data = "b"}},
                                       true));
  });
  server.start();
  Follower follower(server.connection(), quick());
  std::vector<std::string> seen;
  const Status ended = follower.follow("/s", "", [&](const http::Event& event) {
    seen.push_back(event.data);
    return true;
  });
  EXPECT_TRUE(ended) << ended.error().message;
  EXPECT_THAT(seen, ElementsAre("a", "b"));
}

TEST(Follower, GoesOnAfterARestartOfTheServerWithNothingLostOrDoubled) {
  FakeServer server;
  std::vector<std::string> last_ids;
  server.route(http::Method::kGet, "/s", [&](const http::Request& request) -> Result<http::Response> {
    last_ids.push_back(request.header("last-event-id").value_or(""));
    // The second time some of it is sent again, as a server may.
    const bool again = last_ids.size() > 1;
    return http::event_response(std::make_shared<ListedEvents>(
        again ? std::vector<http::Event>{log_event(3, "def"), log_event(6, "ghi")}
              : std::vector<http::Event>{log_event(0, "abc"), log_event(3, "de")},
        again));
  });
  server.start();
  const uint16_t port = server.port();
  FollowOptions options = quick();
  std::vector<bool> contacts;
  options.on_contact = [&](bool there) { contacts.push_back(there); };
  Follower follower(server.connection(), options);
  std::string log;
  std::jthread restart;
  const Status ended = follower.follow_log("/s", 0, [&](const LogPiece& piece) {
    EXPECT_EQ(piece.offset, log.size());
    EXPECT_EQ(piece.channel, "stdout");
    log += piece.bytes;
    if (log == "abcde")
      restart = std::jthread([&] {
        server.stop();
        server.start(port);
      });
    return true;
  });
  EXPECT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(log, "abcdefghi");
  EXPECT_EQ(last_ids.back(), "5");
  restart.join();
}

TEST(Follower, SaysThatALogHasAGap) {
  FakeServer server;
  server.route(http::Method::kGet, "/s", [&](const http::Request&) -> Result<http::Response> {
    return http::event_response(std::make_shared<ListedEvents>(
        std::vector<http::Event>{log_event(0, "abc"), log_event(7, "x")}, true));
  });
  server.start();
  Follower follower(server.connection(), quick());
  const Status ended = follower.follow_log("/s", 0, [](const LogPiece&) { return true; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "the log has a gap: 4 bytes after 3");
}

TEST(Follower, EndsWhenTheCallerHasSeenEnough) {
  FakeServer server;
  server.route(http::Method::kGet, "/s", [&](const http::Request&) -> Result<http::Response> {
    return http::event_response(std::make_shared<ListedEvents>(
        std::vector<http::Event>{log_event(0, "abc"), log_event(3, "x")}, false));
  });
  server.start();
  Follower follower(server.connection(), quick());
  int pieces = 0;
  EXPECT_TRUE(follower.follow_log("/s", 0, [&](const LogPiece&) { return ++pieces < 1; }));
  EXPECT_EQ(pieces, 1);
}

TEST(Follower, EndsWhenAnotherThreadStopsIt) {
  FakeServer server;
  server.route(http::Method::kGet, "/s", [&](const http::Request&) -> Result<http::Response> {
    return http::event_response(
        std::make_shared<ListedEvents>(std::vector<http::Event>{log_event(0, "abc")}, false));
  });
  server.start();
  Follower follower(server.connection(), quick());
  std::jthread stopper;
  EXPECT_TRUE(follower.follow_log("/s", 0, [&](const LogPiece&) {
    stopper = std::jthread([&] { follower.stop(); });
    return true;
  }));
}

TEST(Follower, DoesNotWaitForWhatWillNotCome) {
  FakeServer server;
  server.start();
  Follower follower(server.connection(), quick());
  const auto nothing = [](const http::Event&) { return true; };
  EXPECT_EQ(follower.follow("/none", "", nothing).error().code, ErrorCode::kNotFound);
  Connection connection = server.connection();
  server.stop();
  Follower other(connection, quick());
  EXPECT_EQ(other.follow("/s", "", nothing).error().code, ErrorCode::kUnreachable);
  server.start();
}

TEST(LogPiece, KeepsBytesThatAreNoText) {
  const auto piece = parse_log_piece(R"({"offset":5,"channel":"stderr","base64":"/wAB"})");
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->bytes, std::string("\xff\0\x01", 3));
  EXPECT_FALSE(parse_log_piece("{}"));
  EXPECT_FALSE(parse_log_piece(R"({"offset":5,"base64":"*"})"));
}

}  // namespace
}  // namespace slipway::client

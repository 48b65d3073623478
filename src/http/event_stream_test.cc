#include <condition_variable>
#include <mutex>
#include <thread>

#include "http/server_fixture.h"

namespace slipway::http {
namespace {

// Numbered events that tests add to; a stream reads them from a position, as the store's streams do.
class Numbers {
 public:
  explicit Numbers(Notifier& notifier) : notifier_(notifier) {}
  void add(int count) {
    {
      const std::lock_guard lock(mutex_);
      count_ += count;
    }
    notifier_.notify("numbers");
  }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    notifier_.notify("numbers");
  }

  class Source final : public EventSource {
   public:
    Source(Numbers& numbers, int from) : numbers_(numbers), next_(from) {}
    Result<std::vector<Event>> next() override {
      if (numbers_.broken) return fail(ErrorCode::kInternal, "the numbers are gone");
      const std::lock_guard lock(numbers_.mutex_);
      std::vector<Event> events;
      for (int i = 0; i < 1000 && next_ < numbers_.count_; ++i, ++next_)
        events.push_back({std::to_string(next_ + 1), "number", numbers_.padding + std::to_string(next_)});
      ended_ = numbers_.ended_ && next_ == numbers_.count_;
      return events;
    }
    bool ended() const override { return ended_; }
    std::vector<std::string> topics() const override { return {"numbers"}; }

   private:
    Numbers& numbers_;
    int next_;
    bool ended_ = false;
  };

  std::atomic<bool> broken = false;
  std::string padding;

 private:
  Notifier& notifier_;
  std::mutex mutex_;
  int count_ = 0;
  bool ended_ = false;
};

class EventStreamTest : public ServerTest {
 protected:
  EventStreamTest() {
    route(Method::kGet, "/numbers", [this](const Request& request) -> Result<Response> {
      const std::string from = request.header("last-event-id").value_or("0");
      return event_response(std::make_shared<Numbers::Source>(numbers, std::stoi(from)));
    });
    route(Method::kGet, "/fine", [](const Request&) -> Result<Response> { return empty_response(); });
  }
  void wait_for_connections(uint64_t count) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (server->counters().open_connections != count) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  static constexpr std::string_view kAsk =
      "GET /numbers HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\n\r\n";
  Numbers numbers{notifier};
};

TEST_F(EventStreamTest, SendsWhatIsThereThenWhatComesAndEndsInOrder) {
  start();
  numbers.add(3);
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) numbers.add(1);
    numbers.end();
  });
  Client caller = client();
  int expected = 0;
  const Status ended = caller.events("/numbers", "", [&](const Event& event) {
    EXPECT_EQ(event.data, std::to_string(expected++));
    EXPECT_EQ(event.name, "number");
    return true;
  });
  writer.join();
  EXPECT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(expected, 203);
  // The connection is as after any other answer.
  EXPECT_EQ(caller.send({.target = "/fine"})->status, 204);
  EXPECT_EQ(server->counters().open_connections, 1U);
}

TEST_F(EventStreamTest, GoesOnAfterTheLastIdOfAClientThatWasCutOff) {
  start();
  numbers.add(10);
  Client caller = client();
  std::string last;
  ASSERT_TRUE(caller.events("/numbers", "", [&](const Event& event) {
    last = event.id;
    return event.id != "4";
  }));
  numbers.end();
  std::vector<std::string> rest;
  ASSERT_TRUE(caller.events("/numbers", last, [&](const Event& event) {
    rest.push_back(event.data);
    return true;
  }));
  EXPECT_EQ(rest, (std::vector<std::string>{"4", "5", "6", "7", "8", "9"}));
}

TEST_F(EventStreamTest, BeatsWhileThereIsNothingToSay) {
  options.limits.event_heartbeat = std::chrono::seconds(1);
  start();
  RawSocket socket(server->port());
  socket.send(kAsk);
  EXPECT_NE(socket.read_until("3\r\n:\n\n\r\n").find("text/event-stream"), std::string::npos);
}

TEST_F(EventStreamTest, EndsWithTheToken) {
  options.limits.event_heartbeat = std::chrono::seconds(1);
  start();
  Client caller = client();
  numbers.add(1);
  const Status ended = caller.events("/numbers", "", [&](const Event&) {
    gate.revoked = true;
    return true;
  });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(caller.events("/numbers", "", [](const Event&) { return true; }).error().code,
            ErrorCode::kUnauthenticated);
}

TEST_F(EventStreamTest, ThatIsNeverSilentEndsWithTheTokenToo) {
  options.limits.event_heartbeat = std::chrono::seconds(1);
  start();
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) {
      numbers.add(1);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  Client caller = client();
  gate.revoked = false;
  const Status ended = caller.events("/numbers", "", [&](const Event&) {
    gate.revoked = true;
    return true;
  });
  stop = true;
  writer.join();
  EXPECT_FALSE(ended);
}

TEST_F(EventStreamTest, AnswersAnErrorThatComesBeforeTheFirstEvent) {
  start();
  numbers.broken = true;
  Client caller = client();
  const Status ended = caller.events("/numbers", "", [](const Event&) { return true; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "the numbers are gone");
}

TEST_F(EventStreamTest, BreaksOffWhenTheSourceFailsLater) {
  start();
  numbers.add(1);
  Client caller = client();
  const Status ended = caller.events("/numbers", "", [&](const Event&) {
    numbers.broken = true;
    numbers.add(1);
    return true;
  });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kUnavailable);
}

TEST_F(EventStreamTest, IsLetGoOfWhenItsReaderLeaves) {
  start();
  {
    RawSocket socket(server->port());
    socket.send(kAsk);
    socket.read_until("\r\n\r\n");
    wait_for_connections(1);
  }
  wait_for_connections(0);
}

TEST_F(EventStreamTest, AReaderThatDoesNotReadIsDropped) {
  options.limits.progress_time = std::chrono::seconds(1);
  numbers.padding = std::string(2000, '.');
  start();
  RawSocket socket(server->port());
  const int small = 4096;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  socket.send(kAsk);
  wait_for_connections(1);
  numbers.add(20'000);
  wait_for_connections(0);
}

TEST_F(EventStreamTest, GivesHeadOnlyTheHead) {
  start();
  Client caller = client();
  const auto head = caller.send({.method = Method::kHead, .target = "/numbers"});
  ASSERT_TRUE(head);
  EXPECT_EQ(head->headers.at("content-type"), "text/event-stream");
  EXPECT_EQ(caller.send({.target = "/fine"})->status, 204);
}

TEST_F(EventStreamTest, SilenceIsABreakForTheClient) {
  start();
  Client caller = client();
  const Status ended =
      caller.events("/numbers", "", [](const Event&) { return true; }, std::chrono::milliseconds(200));
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kTimeout);
}

TEST_F(EventStreamTest, IsBrokenOffNotEndedWhenTheServerStops) {
  start();
  std::vector<std::thread> readers;
  readers.reserve(20);
  std::atomic<int> broken = 0;
  for (int i = 0; i < 20; ++i)
    readers.emplace_back([&] {
      Client caller = client();
      if (!caller.events("/numbers", "", [](const Event&) { return true; })) ++broken;
    });
  wait_for_connections(20);
  const auto begun = std::chrono::steady_clock::now();
  server->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3));
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(broken, 20);
}

}  // namespace
}  // namespace slipway::http

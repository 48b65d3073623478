#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "http/server_fixture.h"

namespace slipway::http {
namespace {

class DeferredTest : public ::testing::Test {
 protected:
  void start() {
    server_ = std::make_unique<Server>(ServerOptions{}, router_, gate_, notifier_);
    ASSERT_TRUE(server_->start());
  }
  std::string ask(const std::string& request) {
    RawSocket socket(server_->port());
    EXPECT_TRUE(socket.send(request));
    return socket.read_until("");
  }
  std::string post(const std::string& path, const std::string& body, const std::string& token = "good") {
    return ask(
        fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    path, token, body.size(), body));
  }

  Router router_;
  TokenGate gate_;
  Notifier notifier_;
  std::unique_ptr<Server> server_;
};

TEST_F(DeferredTest, IsAnsweredBeforeTheHandlerReturns) {
  router_.add({Method::kPost, "/echo", Access::kReader,
               [](Request& request, Turn&, Answer answer) { answer(text_response("got " + request.body)); }});
  start();
  EXPECT_TRUE(post("/echo", "it").ends_with("\r\n\r\ngot it"));
}

TEST_F(DeferredTest, IsAnsweredFromAnotherThread) {
  std::vector<std::thread> threads;
  std::mutex mutex;
  router_.add({Method::kPost, "/later", Access::kReader, [&](Request& request, Turn&, Answer answer) {
                 const std::lock_guard lock(mutex);
                 threads.emplace_back([&request, answer = std::move(answer)]() mutable {
                   answer(text_response("later " + request.body));
                 });
               }});
  start();
  EXPECT_TRUE(post("/later", "it").ends_with("later it"));
  server_->stop();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DeferredTest, IsAnsweredAtTheEndOfTheTurnOnItsThread) {
  std::atomic<bool> same = false;
  router_.add({Method::kPost, "/turn", Access::kReader, [&](Request&, Turn& turn, Answer answer) {
                 const auto thread = std::this_thread::get_id();
                 turn.at_end([&same, thread, answer = std::move(answer)]() mutable {
                   same = thread == std::this_thread::get_id();
                   answer(text_response("end"));
                 });
               }});
  start();
  EXPECT_TRUE(post("/turn", "").ends_with("end"));
  EXPECT_TRUE(same);
}

TEST_F(DeferredTest, TurnsAnErrorIntoItsStatus) {
  router_.add({Method::kPost, "/fails", Access::kReader, [](Request&, Turn&, Answer answer) {
                 answer(fail(ErrorCode::kExhausted, "no room", "wait"));
               }});
  start();
  const std::string answer = post("/fails", "x");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 429 ")) << answer;
  EXPECT_TRUE(answer.contains("Retry-After: 1"));
}

TEST_F(DeferredTest, IsNotReachedWithoutAToken) {
  std::atomic<int> reached = 0;
  router_.add({Method::kPost, "/guarded", Access::kReader,
               [&](Request&, Turn&, Answer answer) {
                 ++reached;
                 answer(text_response("in"));
               },
               1 << 20});
  start();
  EXPECT_TRUE(post("/guarded", "x", "bad").starts_with("HTTP/1.1 401 "));
  EXPECT_TRUE(post("/guarded", std::string(200'000, 'x'), "bad").starts_with("HTTP/1.1 401 "));
  EXPECT_TRUE(post("/guarded", std::string(2 << 20, 'x')).starts_with("HTTP/1.1 413 "));
  EXPECT_EQ(reached, 0);
  EXPECT_TRUE(post("/guarded", std::string(200'000, 'x')).starts_with("HTTP/1.1 200 "));
}

TEST_F(DeferredTest, IsWaitedForWhenTheServerStops) {
  std::atomic<bool> reached = false;
  Answer held;
  router_.add({Method::kPost, "/slow", Access::kReader, [&](Request&, Turn&, Answer answer) {
                 held = std::move(answer);
                 reached = true;
               }});
  start();
  std::string answer;
  std::thread client([&] { answer = post("/slow", "x"); });
  while (!reached) std::this_thread::yield();
  std::thread stopper([&] { server_->stop(); });
  held(text_response("done"));
  stopper.join();
  client.join();
  EXPECT_TRUE(answer.ends_with("done")) << answer;
}

}  // namespace
}  // namespace slipway::http

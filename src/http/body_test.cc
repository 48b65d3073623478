// Bodies: their limits, streamed ones, files.
#include <fcntl.h>
#include <sys/mman.h>

#include <fstream>

#include "base/digest.h"
#include "http/server_fixture.h"

namespace slipway::http {
namespace {

class BodyTest : public ServerTest {
 protected:
  BodyTest() {
    router.add(Route(
        Method::kPost, "/small", Access::kReader,
        [](const Request& request) -> Result<Response> { return text_response(request.body); },
        BodyMode::kBuffered, 100'000));
    router.add(Route(
        Method::kPut, "/stream", Access::kReader, [this](const Request& request) { return hash(request); },
        BodyMode::kStreamed, 1 << 30));
    router.add(Route(
        Method::kPut, "/refuse", Access::kReader,
        [](const Request&) -> Result<Response> { return fail(ErrorCode::kConflict, "it is there already"); },
        BodyMode::kStreamed, 1 << 30));
  }
  Result<Response> hash(const Request& request) {
    Hasher hasher;
    uint64_t total = 0;
    for (;;) {
      ++reads;
      SLIPWAY_ASSIGN(const std::string_view piece, request.stream->next());
      if (piece.empty()) break;
      hasher.update(piece);
      total += piece.size();
    }
    return json_response({{"digest", hasher.finish().hex()}, {"size", total}});
  }
  static Call upload(std::string target, const std::string& piece, uint64_t count) {
    return {.method = Method::kPut,
            .target = std::move(target),
            .source = [&piece]() -> Result<std::string_view> { return piece; },
            .source_length = piece.size() * count};
  }
  std::atomic<int> reads = 0;
};

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0;
  size_t resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

TEST_F(BodyTest, WithinTheLimitIsTakenWhole) {
  start();
  Client caller = client();
  for (const size_t size : {0UL, 1UL, 7'000UL, 70'000UL, 100'000UL}) {
    const std::string body(size, 'b');
    const auto answer = caller.call({.method = Method::kPost, .target = "/small", .body = body});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, body);
  }
  EXPECT_EQ(server->counters().open_connections, 1U);
}

TEST_F(BodyTest, BeyondTheLimitIsRefusedBeforeItIsRead) {
  start();
  Client caller = client();
  const auto answer =
      caller.call({.method = Method::kPost, .target = "/small", .body = std::string(50 << 20, 'b')});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kTooLarge) << answer.error().message;
  RawSocket announced(server->port());
  announced.send("POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999\r\n\r\n");
  EXPECT_NE(announced.read_until("\r\n\r\n").find("413"), std::string::npos);
}

TEST_F(BodyTest, ChunkedIsTakenUpToTheLimit) {
  start();
  const std::string head =
      "POST /small HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\nTransfer-Encoding: "
      "chunked\r\n";
  EXPECT_NE(
      exchange(head + "Connection: close\r\n\r\n5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: x\r\n\r\n")
          .find("\r\n\r\nhello world"),
      std::string::npos);
  RawSocket endless(server->port());
  endless.send(head + "\r\n");
  const std::string chunk = "8000\r\n" + std::string(0x8000, 'x') + "\r\n";
  for (int i = 0; i < 4; ++i) endless.send(chunk);
  EXPECT_NE(endless.read_until("\r\n\r\n").find(" 413 "), std::string::npos);
}

TEST_F(BodyTest, OfAStrangerIsNotRead) {
  start();
  ClientOptions chosen = client_options();
  chosen.token = Secret("bad");
  Client stranger(chosen);
  const std::string piece(1 << 20, 's');
  const auto streamed = stranger.send(upload("/stream", piece, 64));
  ASSERT_TRUE(streamed) << streamed.error().message;
  EXPECT_EQ(streamed->status, 401);
  EXPECT_EQ(reads, 0);
  EXPECT_EQ(
      stranger.send({.method = Method::kPost, .target = "/small", .body = std::string(90'000, 's')})->status,
      401);
  EXPECT_EQ(stranger.send({.method = Method::kPost, .target = "/small", .body = "s"})->status, 401);
}

TEST_F(BodyTest, IsAskedForOnlyOnceItIsWanted) {
  start();
  const std::string fields =
      " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\nExpect: 100-continue\r\n";
  for (const char* path : {"PUT /stream", "POST /small"}) {
    RawSocket socket(server->port());
    socket.send(path + fields + "Content-Length: 5\r\n\r\n");
    EXPECT_EQ(socket.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    socket.send("hello");
    EXPECT_NE(socket.read_until("\r\n\r\n").find("200 OK"), std::string::npos);
  }
  RawSocket unwanted(server->port());
  unwanted.send("PUT /refuse" + fields + "Content-Length: 5\r\n\r\n");
  const std::string answer = unwanted.read_all();
  EXPECT_EQ(answer.substr(9, 3), "409");
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
}

TEST_F(BodyTest, StreamedIsNeverHeldWhole) {
  start();
  Client caller = client();
  const std::string piece(1 << 20, 's');
  ASSERT_TRUE(caller.call(upload("/stream", piece, 4)));
  const size_t before = resident_bytes();
  const auto answer = caller.call(upload("/stream", piece, 300));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(parse_json(answer->body, "it")->at("size").to_number<uint64_t>(), 300U << 20);
  EXPECT_LT(resident_bytes(), before + (64 << 20));
  EXPECT_EQ(server->counters().open_connections, 1U);
}

TEST_F(BodyTest, StreamedKeepsEveryByteHoweverItIsCut) {
  start();
  std::string content;
  for (int i = 0; i < 200'000; ++i) content += static_cast<char>(i * 7919 >> 3);
  const std::string expected = Digest::of(content).hex();
  Client caller = client();
  size_t offset = 0;
  size_t step = 1;
  const auto answer = caller.call({.method = Method::kPut,
                                   .target = "/stream",
                                   .source = [&]() -> Result<std::string_view> {
                                     const std::string_view piece =
                                         std::string_view(content).substr(offset, step);
                                     offset += piece.size();
                                     step = step * 3 + 1;
                                     return piece;
                                   },
                                   .source_length = content.size()});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(parse_json(answer->body, "it")->at("digest").as_string(), expected);

  std::string chunked =
      "PUT /stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\nConnection: close\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  for (size_t at = 0, size = 1; at < content.size(); at += size, size = size * 2 + 1) {
    const std::string_view piece = std::string_view(content).substr(at, size);
    chunked += fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
  }
  EXPECT_NE(exchange(chunked + "0\r\n\r\n").find(expected), std::string::npos);
}

TEST_F(BodyTest, ThatAHandlerLeavesUnreadDoesNotLoseTheAnswer) {
  start();
  Client caller = client();
  const std::string piece(1 << 20, 's');
  const auto large = caller.call(upload("/refuse", piece, 200));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kConflict) << large.error().message;
  // A small rest is read, and the connection goes on.
  const std::string little(1000, 's');
  EXPECT_EQ(caller.send(upload("/refuse", little, 2))->status, 409);
  EXPECT_EQ(caller.send(upload("/stream", little, 2))->status, 200);
}

TEST_F(BodyTest, CutOffFailsTheHandlersRead) {
  start();
  RawSocket socket(server->port());
  socket.send(
      "PUT /stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\nContent-Length: "
      "100\r\n\r\nabc");
  socket.end_sending();
  EXPECT_EQ(socket.read_all().substr(9, 3), "503");
}

TEST_F(BodyTest, ThatStopsMovingIsGivenUp) {
  options.limits.progress_time = std::chrono::seconds(1);
  start();
  RawSocket streamed(server->port());
  streamed.send(
      "PUT /stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\nContent-Length: "
      "100\r\n\r\nabc");
  RawSocket buffered(server->port());
  buffered.send(
      "POST /small HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\nContent-Length: "
      "100\r\n\r\nabc");
  EXPECT_EQ(streamed.read_all().substr(9, 3), "504");
  EXPECT_EQ(buffered.read_all(), "");
}

class FileTest : public ServerTest {
 protected:
  FileTest() : file_(::memfd_create("content", MFD_CLOEXEC)) {
    for (int i = 0; content_.size() < (3 << 20) + 17; ++i) content_ += fmt::format("{} ", i);
    if (::write(file_.get(), content_.data(), content_.size()) < 0) throw std::runtime_error("no file");
    route(Method::kGet, "/file", [this](const Request& request) -> Result<Response> {
      return file_response(request, UniqueFd(::dup(file_.get())), content_.size(), "application/octet-stream",
                           "v1");
    });
    route(Method::kGet, "/short", [this](const Request& request) -> Result<Response> {
      return file_response(request, UniqueFd(::dup(file_.get())), content_.size() + 5, "text/plain", "");
    });
  }
  UniqueFd file_;
  std::string content_;
};

TEST_F(FileTest, IsSentWholeOrByRange) {
  start();
  Client caller = client();
  const auto whole = caller.call({.target = "/file"});
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->body, content_);
  const auto part = caller.send({.target = "/file", .headers = {{"Range", "bytes=1000000-2999999"}}});
  EXPECT_EQ(part->status, 206);
  EXPECT_EQ(part->body, content_.substr(1'000'000, 2'000'000));
  const auto beyond = caller.send({.target = "/file", .headers = {{"Range", "bytes=99999999-"}}});
  EXPECT_EQ(beyond->status, 416);
  EXPECT_EQ(beyond->headers.at("content-range"), fmt::format("bytes */{}", content_.size()));
  EXPECT_EQ(caller.send({.target = "/file", .headers = {{"If-None-Match", "\"v1\""}}})->status, 304);
  EXPECT_EQ(server->counters().open_connections, 1U);
}

TEST_F(FileTest, ThatIsShorterThanAnnouncedBreaksTheConnection) {
  start();
  Client caller = client();
  const auto answer = caller.call({.target = "/short"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
}

TEST_F(FileTest, GoesToASinkPieceByPieceUntilItRefuses) {
  start();
  Client caller = client();
  std::string got;
  ASSERT_TRUE(caller.call({.target = "/file", .sink = [&](std::string_view piece) -> Status {
                             got += piece;
                             return {};
                           }}));
  EXPECT_EQ(got, content_);
  const auto refused = caller.call({.target = "/file", .sink = [](std::string_view) -> Status {
                                      return fail(ErrorCode::kStorageFull, "no room");
                                    }});
  EXPECT_EQ(refused.error().code, ErrorCode::kStorageFull);
  EXPECT_EQ(caller.call({.target = "/file"})->body.size(), content_.size());
}

TEST_F(FileTest, AReaderThatLeavesDoesNoHarm) {
  start();
  for (int i = 0; i < 20; ++i) {
    RawSocket socket(server->port());
    socket.send("GET /file HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\n\r\n");
    socket.read_until("\r\n\r\n");
  }
  EXPECT_EQ(client().call({.target = "/file"})->body.size(), content_.size());
}

TEST_F(FileTest, AReaderThatDoesNotReadIsDropped) {
  options.limits.progress_time = std::chrono::seconds(1);
  start();
  RawSocket socket(server->port());
  const int small = 4096;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  socket.send("GET /file HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\n\r\n");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (server->counters().requests == 0 || server->counters().open_connections > 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace
}  // namespace slipway::http

// HTTP/2 with nghttp2's own client on the other side.
#include <nghttp2/nghttp2.h>

#include <mutex>
#include <thread>

#include "http/grpc.h"
#include "http/list_gateway.h"
#include "http/listener.h"
#include "http/server_fixture.h"

namespace slipway::http {
namespace {

using Headers = std::map<std::string, std::string>;

struct Reply {
  Headers headers;
  Headers trailers;
  std::string body;
  bool closed = false;
  uint32_t error = 0;
};

class Http2Client {
 public:
  explicit Http2Client(uint16_t port) : socket_(port) {
    nghttp2_session_callbacks* callbacks = nullptr;
    ::nghttp2_session_callbacks_new(&callbacks);
    ::nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
    ::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, data);
    ::nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closed);
    ::nghttp2_session_client_new(&session_, callbacks, this);
    ::nghttp2_session_callbacks_del(callbacks);
    ::nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~Http2Client() { ::nghttp2_session_del(session_); }
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  int32_t send(const std::string& method, const std::string& path, std::string body = "", Headers more = {}) {
    more.try_emplace("authorization", "Bearer good");
    std::vector<nghttp2_nv> all;
    const auto add = [&](const std::string& name, const std::string& value) {
      all.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                     reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
                     0});
    };
    const Headers pseudo{
        {":method", method}, {":path", path}, {":scheme", "http"}, {":authority", "localhost"}};
    for (const auto& [name, value] : pseudo) add(name, value);
    for (const auto& [name, value] : more) add(name, value);
    bodies_.push_back(std::make_unique<std::string>(std::move(body)));
    nghttp2_data_provider provider{};
    provider.source.ptr = bodies_.back().get();
    provider.read_callback = read_body;
    const bool empty = bodies_.back()->empty();
    const int32_t id = ::nghttp2_submit_request(session_, nullptr, all.data(), all.size(),
                                                empty ? nullptr : &provider, nullptr);
    flush();
    return id;
  }
  void reset(int32_t id) {
    ::nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    flush();
  }
  // Until the stream has closed, the connection has ended or 10 s have passed.
  Reply& wait(int32_t id) {
    while (!replies_[id].closed && take_some()) {
    }
    return replies_[id];
  }
  Reply& ask(const std::string& method, const std::string& path, std::string body = "", Headers more = {}) {
    return wait(send(method, path, std::move(body), std::move(more)));
  }
  bool take_some() {
    pollfd watched{socket_.fd(), POLLIN, 0};
    if (::poll(&watched, 1, 10'000) <= 0) return false;
    uint8_t piece[65536];
    const ssize_t count = ::recv(socket_.fd(), piece, sizeof piece, 0);
    if (count <= 0) return false;
    ::nghttp2_session_mem_recv(session_, piece, static_cast<size_t>(count));
    flush();
    return true;
  }

 private:
  void flush() {
    const uint8_t* bytes = nullptr;
    for (ssize_t count = 0; (count = ::nghttp2_session_mem_send(session_, &bytes)) > 0;)
      socket_.send({reinterpret_cast<const char*>(bytes), static_cast<size_t>(count)});
  }
  static int header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                    const uint8_t* value, size_t value_size, uint8_t, void* user) {
    Reply& reply = static_cast<Http2Client*>(user)->replies_[frame->hd.stream_id];
    const bool first = frame->headers.cat == NGHTTP2_HCAT_RESPONSE;
    (first ? reply.headers : reply.trailers)[{reinterpret_cast<const char*>(name), name_size}] = {
        reinterpret_cast<const char*>(value), value_size};
    return 0;
  }
  static int data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t count, void* user) {
    static_cast<Http2Client*>(user)->replies_[id].body.append(reinterpret_cast<const char*>(bytes), count);
    return 0;
  }
  static int closed(nghttp2_session*, int32_t id, uint32_t error, void* user) {
    Reply& reply = static_cast<Http2Client*>(user)->replies_[id];
    reply.closed = true;
    reply.error = error;
    return 0;
  }
  static ssize_t read_body(nghttp2_session*, int32_t, uint8_t* into, size_t room, uint32_t* flags,
                           nghttp2_data_source* source, void*) {
    std::string& body = *static_cast<std::string*>(source->ptr);
    const size_t count = std::min(room, body.size());
    std::copy_n(body.data(), count, reinterpret_cast<char*>(into));
    body.erase(0, count);
    if (body.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  }

  RawSocket socket_;
  nghttp2_session* session_ = nullptr;
  std::map<int32_t, Reply> replies_;
  std::vector<std::unique_ptr<std::string>> bodies_;
};

class Http2Test : public ServerTest {
 protected:
  void SetUp() override {
    options.http2 = true;
    route(Method::kGet, "/plain/{name}", [](const Request& request) -> Result<Response> {
      return text_response(request.param("name") + request.query_value("q").value_or(""));
    });
    router.add(Route(
        Method::kPost, "/echo", Access::kReader,
        [](Request& request, Turn&, Answer answer) { answer(text_response(std::move(request.body))); },
        4 << 20));
    router.add(Route(Method::kPost, "/held", Access::kReader, [this](Request& request, Turn&, Answer answer) {
      const std::lock_guard lock(mutex_);
      held_.emplace_back(&request, std::move(answer));
    }));
    router.add(Route(Method::kPost, "/call", Access::kReader, [](Request& request, Turn&, Answer answer) {
      std::string room;
      const auto message = grpc_message(request, 1 << 20, room);
      answer(message ? grpc_response(begin_grpc() + std::string(*message)) : grpc_refusal(message.error()));
    }));
    router.add(Route(
        Method::kPost, "/streamed", Access::kReader,
        [](const Request&) -> Result<Response> { return text_response("no"); }, BodyMode::kStreamed));
    start();
  }
  size_t held() {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  void wait_for_held(size_t count) {
    for (int i = 0; i < 2000 && held() < count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(held(), count);
  }

  std::mutex mutex_;
  std::vector<std::pair<Request*, Answer>> held_;
};

TEST_F(Http2Test, AnswersRoutesOfBothKinds) {
  Http2Client client(server->port());
  const Reply& plain = client.ask("GET", "/plain/a%20b?q=%21");
  EXPECT_EQ(plain.headers.at(":status"), "200");
  EXPECT_EQ(plain.body, "a b!");
  const std::string large(3 << 20, 'x');
  EXPECT_EQ(client.ask("POST", "/echo", large).body, large);
  EXPECT_EQ(client.ask("GET", "/nothing").headers.at(":status"), "404");
}

TEST_F(Http2Test, SpeaksTheOlderOneOnTheSamePort) {
  EXPECT_TRUE(exchange("GET /plain/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\n"
                       "Connection: close\r\n\r\n")
                  .ends_with("\r\n\r\nx"));
}

TEST_F(Http2Test, AnswersStreamsInTheOrderTheyAreDone) {
  Http2Client client(server->port());
  std::vector<int32_t> ids;
  for (const char* body : {"one", "two", "three"}) ids.push_back(client.send("POST", "/held", body));
  wait_for_held(3);
  for (size_t i = 3; i-- > 0;) {
    held_[i].second(text_response("got " + held_[i].first->body));
    EXPECT_TRUE(client.wait(ids[i]).body.starts_with("got ")) << i;
  }
}

TEST_F(Http2Test, SendsTheStatusOfACallBehindItsBody) {
  Http2Client client(server->port());
  const Headers grpc{{"content-type", "application/grpc"}};
  const Reply& good = client.ask("POST", "/call", std::string("\0\0\0\0\x02ok", 7), grpc);
  EXPECT_EQ(good.body, std::string("\0\0\0\0\x02ok", 7));
  EXPECT_EQ(good.trailers.at("grpc-status"), "0");
  EXPECT_FALSE(good.headers.contains("grpc-status"));
  const Reply& bad = client.ask("POST", "/call", "x", grpc);
  EXPECT_EQ(bad.headers.at("grpc-status"), "3");
  EXPECT_EQ(client.ask("POST", "/no.such/Method", "x", grpc).headers.at("grpc-status"), "12");
}

TEST_F(Http2Test, LetsNobodyInWithoutAToken) {
  Http2Client client(server->port());
  const Headers wrong{{"authorization", "Bearer bad"}};
  EXPECT_EQ(client.ask("POST", "/echo", std::string(500'000, 'x'), wrong).headers.at(":status"), "401");
  EXPECT_EQ(client.ask("GET", "/plain/x", "", wrong).headers.at(":status"), "401");
  const Headers call{{"authorization", "Bearer bad"}, {"content-type", "application/grpc"}};
  const Reply& refused = client.ask("POST", "/call", "x", call);
  EXPECT_EQ(refused.headers.at(":status"), "200");
  EXPECT_EQ(refused.headers.at("grpc-status"), "16");
  EXPECT_EQ(client.ask("POST", "/echo", "x").body, "x");
}

TEST_F(Http2Test, BoundsBodiesAndHeaders) {
  Http2Client client(server->port());
  EXPECT_EQ(client.ask("POST", "/echo", std::string(5 << 20, 'x')).headers.at(":status"), "413");
  const Reply& wide = client.ask("GET", "/plain/x", "", {{"x-wide", std::string(60'000, 'x')}});
  EXPECT_TRUE(wide.closed && wide.headers.empty());
  EXPECT_EQ(client.ask("POST", "/echo", "x").body, "x");
}

TEST_F(Http2Test, RefusesWhatIsTheOlderOnes) {
  Http2Client client(server->port());
  EXPECT_EQ(client.ask("POST", "/streamed", "x").error, static_cast<uint32_t>(NGHTTP2_HTTP_1_1_REQUIRED));
}

TEST_F(Http2Test, OutlivesStreamsThatAreReset) {
  Http2Client client(server->port());
  const int32_t id = client.send("POST", "/held", "kept");
  wait_for_held(1);
  client.reset(id);
  EXPECT_EQ(client.ask("POST", "/echo", "x").body, "x");
  EXPECT_EQ(held_[0].first->body, "kept");
  held_[0].second(text_response("nobody hears it"));
  EXPECT_EQ(client.ask("POST", "/echo", "y").body, "y");
}

TEST_F(Http2Test, WaitsForHandlersOfConnectionsThatAreGone) {
  {
    Http2Client client(server->port());
    client.send("POST", "/held", "kept");
    wait_for_held(1);
  }
  std::thread late([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(held_[0].first->body, "kept");
    held_[0].second(text_response("nobody hears it"));
  });
  server->stop();
  late.join();
}

TEST_F(Http2Test, EndsWhatIsUnderWayBeforeItStops) {
  Http2Client client(server->port());
  const int32_t id = client.send("POST", "/held", "x");
  wait_for_held(1);
  std::thread stopper([this] { server->stop(); });
  held_[0].second(text_response("done"));
  EXPECT_EQ(client.wait(id).body, "done");
  stopper.join();
}

// -- through the door of a gateway
// ------------------------------------------------------------------------------

class Http2DoorTest : public Http2Test {
 protected:
  void open(std::initializer_list<uint16_t> ports) {
    for (const uint16_t port : ports) gateway.add(port, "good");
    front = std::make_unique<Server>(ServerOptions(), no_routes, gate, notifier, &gateway);
    ASSERT_TRUE(front->start());
    const auto opened = front->open_door("svc", 0);
    ASSERT_TRUE(opened);
    door = *opened;
  }

  ListGateway gateway;
  Router no_routes;
  std::unique_ptr<Server> front;
  uint16_t door = 0;
};

TEST_F(Http2DoorTest, CarriesCallsThereAndBack) {
  open({server->port()});
  Http2Client client(door);
  const Headers grpc{{"content-type", "application/grpc"}, {"authorization", "Bearer of the client"}};
  const Reply& good = client.ask("POST", "/call", std::string("\0\0\0\0\x02ok", 7), grpc);
  EXPECT_EQ(good.body, std::string("\0\0\0\0\x02ok", 7));
  EXPECT_EQ(good.trailers.at("grpc-status"), "0");
  EXPECT_EQ(good.headers.at("x-request-id"), "id-7");
  const std::string large(3 << 20, 'x');
  EXPECT_EQ(client.ask("POST", "/echo", large).body, large);
  EXPECT_EQ(gateway.seen_soon(2), std::vector(2, PassageEnd::kAnswered));
}

TEST_F(Http2DoorTest, TriesAnotherServerAndSaysWhenThereIsNone) {
  const auto closed = Listener::open(ServerOptions())->port();
  open({closed, server->port()});
  Http2Client client(door);
  EXPECT_EQ(client.ask("POST", "/echo", "x").body, "x");
  gateway.upstreams.pop_back();
  const Reply& none = client.ask("POST", "/call", "x", {{"content-type", "application/grpc"}});
  EXPECT_EQ(none.headers.at("grpc-status"), "14");
}

TEST_F(Http2DoorTest, GivesUpWhatIsLateAndWhatNobodyWaitsFor) {
  gateway.answer_time = std::chrono::milliseconds(100);
  open({server->port()});
  Http2Client client(door);
  EXPECT_EQ(client.ask("POST", "/held", "x").headers.at(":status"), "504");
  gateway.answer_time = std::chrono::minutes(5);
  const int32_t id = client.send("POST", "/held", "x");
  wait_for_held(2);
  client.reset(id);
  EXPECT_EQ(gateway.seen_soon(2), (std::vector{PassageEnd::kLate, PassageEnd::kClientGone}));
  for (auto& [request, answer] : held_) answer(text_response("too late"));
  EXPECT_EQ(gateway.upstreams[0]->under_way, 0);
}

}  // namespace
}  // namespace slipway::http

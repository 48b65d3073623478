// One HTTP/2 connection without the waiting: bytes in, bytes out, and each stream a request for the router.
// nghttp2 does the framing; its headers stay in http2.cc.
//
// Invariants
//   1. All of it is used on the shard's thread alone; what a handler answers is posted there.
//   2. A request lives until its handler has answered, also when its peer has reset the stream: `running`
//   counts
//      them, and the connection must outlive them.
//   3. What a peer can make it hold is bounded: streams, requests under way, headers, and bodies by the limit
//   of
//      their route. The authoriser has agreed before a body is kept, but for the small ones of routes whose
//      authoriser runs on a worker.
//   4. Headers of an answer that are named grpc-* go out behind its body, but for those that say how it is
//      compressed.
//
// On the door of a gateway a stream is carried to the server that answers it, over HTTP/1.1 and whole
// (http2_forward.cc).
//
// Routes with a streamed body, files and event streams are HTTP/1.1's: such a stream is refused with the code
// that says so.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "http/gateway.h"
#include "http/session.h"

struct nghttp2_session;

namespace slipway::http {

// What a client that knows the server to speak HTTP/2 begins with.
constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class Http2Connection {
 public:
  // `wake` is called on the shard's thread when there is something to send. `door`: the one it came through;
  // null for the server's own port.
  Http2Connection(Site& site, Shard& shard, const std::string* door, std::function<void()> wake);
  ~Http2Connection();
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  // What the peer has sent. False when it broke the protocol: what is to be sent then says so.
  bool put(std::string_view bytes);
  // Sends what the channel takes now. kMoved: all of it; else as Channel::write.
  IoState pump(Channel& channel);
  // Takes no new streams; those there are go on.
  void end();
  // The peer has gone: what is still on its way to other servers is given up.
  void abandon();

  bool over() const;
  size_t running() const { return running_; }
  bool idle() const { return streams_.empty() && running_ == 0; }
  // When the peer is too slow: with a body, or to ask for anything.
  Monotonic deadline() const;

 private:
  friend struct Http2Callbacks;
  struct Stream;                              // http2_stream.h
  using StreamPtr = std::shared_ptr<Stream>;  // shared by the connection and the answer that is awaited

  bool add_header(Stream& stream, std::string_view name, std::string_view value);
  void begin(Stream& stream);
  Status prepare(Stream& stream);
  void add_body(Stream& stream, std::string_view bytes);
  void dispatch(const StreamPtr& stream);
  void run_on_worker(const StreamPtr& stream);
  bool is_passed_on() const { return door_ != nullptr && site_.gateway != nullptr; }
  void finish(const StreamPtr& stream, Result<Response> response);
  void refuse(Stream& stream, const Error& error, int status = 0);
  void respond(Stream& stream, Response response);
  void close(int32_t id);

  // http2_forward.cc
  Status choose(Stream& stream);
  void leave(Stream& stream, PassageEnd end);
  static Task<void> forward(Http2Connection* connection, StreamPtr stream);
  Task<bool> connect(Stream* stream);
  Task<Result<Response>> ask(Stream* stream);
  Task<Result<Response>> read_answer(Stream* stream, Monotonic deadline);
  Task<IoState> upstream_ready(Stream* stream, IoState want, Monotonic deadline);

  Site& site_;
  Shard& shard_;
  const std::string* const door_;
  const std::function<void()> wake_;
  nghttp2_session* session_ = nullptr;  // made and freed here
  std::map<int32_t, StreamPtr> streams_;
  size_t running_ = 0;
  Monotonic quiet_since_;
  std::string out_;
  size_t out_sent_ = 0;
};

}  // namespace slipway::http

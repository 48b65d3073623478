// The part of an HTTP/2 connection that carries a stream to the server which answers it, for gRPC through a
// gateway. A call is one message there and one back, so both are held whole.
//
// Invariants are those of forward.cc: another server is tried only while nothing has been sent to the one
// before, or once more for what may be done twice, and `Gateway::ended` follows each `choose` that gave a
// passage, exactly once.
#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <tuple>

#include "http/forwarded_head.h"
#include "http/grpc.h"
#include "http/http2.h"
#include "http/http2_stream.h"
#include "http/shard.h"

namespace slipway::http {
namespace {

constexpr std::chrono::seconds kConnectTime{2};
constexpr size_t kPiece = 64 << 10;
constexpr size_t kMaxAnswer = 256 << 20;

Monotonic now() {
  return std::chrono::steady_clock::now();
}

// The head as HTTP/1.1 has it. HTTP/2 lets no line ends into fields.
std::string raw_head(const Head& head) {
  std::string raw = fmt::format("{} {} HTTP/1.1\r\n", head.method, head.target);
  for (const auto& [name, value] : head.headers) raw += fmt::format("{}: {}\r\n", name, value);
  return raw + "\r\n";
}

Response response_of(Head& head, std::string body) {
  Response response;
  response.status = head.status;
  response.content_type.clear();
  for (auto& [name, value] : head.headers) {
    if (name == "content-type") {
      response.content_type = std::move(value);
    } else if (name != "connection" && name != "keep-alive" && name != "transfer-encoding" &&
               name != "content-length" && name != "trailer" && name != "upgrade") {
      response.headers[name] = std::move(value);
    }
  }
  response.body = std::move(body);
  return response;
}

std::unexpected<Error> broken() {
  return fail(ErrorCode::kUnreachable, "the service went away in the middle of the request",
              "try again if it may be done twice");
}

std::unexpected<Error> late() {
  return fail(ErrorCode::kTimeout, "the service did not answer in time", "try again, or send less at once");
}

PassageEnd end_of(const Result<Response>& response) {
  if (response) return PassageEnd::kAnswered;
  return response.error().code == ErrorCode::kTimeout ? PassageEnd::kLate : PassageEnd::kBroken;
}

}  // namespace

// Asks the gateway where the stream goes; what it answers instead is the answer.
Status Http2Connection::choose(Stream& stream) {
  auto choice = site_.gateway->choose(stream.head, *door_, stream.tried);
  if (!choice) {
    respond(stream, is_grpc(stream.request) ? as_grpc(std::move(choice.error())) : std::move(choice.error()));
    return {};
  }
  stream.passage = std::move(*choice);
  stream.chosen = now();
  return {};
}

void Http2Connection::leave(Stream& stream, PassageEnd end) {
  if (!stream.passage) return;
  site_.gateway->ended(*stream.passage, end, 0, {});
  stream.passage.reset();
}

void Http2Connection::abandon() {
  boost::system::error_code ignored;
  for (const auto& [id, stream] : streams_) {
    stream->open = false;
    if (stream->upstream) std::ignore = stream->upstream->socket.cancel(ignored);
  }
}

Task<void> Http2Connection::forward(Http2Connection* connection, StreamPtr stream) {
  Gateway& gateway = *connection->site_.gateway;
  Result<Response> response = broken();
  for (bool repeated = false;;) {
    if (co_await connection->connect(stream.get())) {
      response = co_await connection->ask(stream.get());
      const bool unanswered = end_of(response) == PassageEnd::kBroken && !stream->answer_begun;
      if (!unanswered || !stream->passage->repeatable || !stream->open || std::exchange(repeated, true))
        break;
      stream->upstream.reset();
    }
    stream->tried.push_back(stream->passage->upstream->id);
    connection->leave(*stream, PassageEnd::kNotConnected);
    if (stream->open) std::ignore = connection->choose(*stream);
    if (stream->passage) continue;
    --connection->running_;  // answered by the gateway, or nobody waits
    connection->wake_();
    co_return;
  }
  const Passage passage = std::move(*std::exchange(stream->passage, std::nullopt));
  gateway.ended(passage, stream->open ? end_of(response) : PassageEnd::kClientGone,
                response ? response->status : 0,
                std::chrono::duration_cast<std::chrono::microseconds>(now() - stream->chosen));
  stream->upstream.reset();
  if (!response) response = gateway.refusal(passage, response.error());
  response->headers["x-request-id"] = passage.request_id;
  connection->finish(stream, is_grpc(stream->request) ? as_grpc(std::move(*response)) : std::move(*response));
}

Task<bool> Http2Connection::connect(Stream* stream) {
  const Upstream& upstream = *stream->passage->upstream;
  stream->upstream = shard_.upstreams().take(upstream);
  if (stream->upstream) co_return true;
  auto socket = begin_connect(upstream);
  if (!socket) co_return false;
  stream->upstream = std::make_unique<UpstreamConnection>(shard_.executor(), std::move(*socket));
  const IoState state = co_await upstream_ready(stream, IoState::kWantWrite, now() + kConnectTime);
  if (state == IoState::kMoved && finish_connect(stream->upstream->channel.fd())) co_return true;
  stream->upstream.reset();
  co_return false;
}

Task<Result<Response>> Http2Connection::ask(Stream* stream) {
  const std::string text = forwarded_request(raw_head(stream->head), stream->head, *stream->passage,
                                             {.length = stream->request.body.size(), .chunked = false}) +
                           stream->request.body;
  for (std::string_view rest = text; !rest.empty();) {
    const IoResult written = stream->upstream->channel.write(rest);
    if (written.state == IoState::kMoved) {
      rest.remove_prefix(written.bytes);
      continue;
    }
    if (written.state != IoState::kWantWrite) co_return broken();
    if (stream->upstream->readable()) break;  // it has answered before it has read everything
    const IoState state =
        co_await upstream_ready(stream, IoState::kWantWrite, now() + site_.options.limits.progress_time);
    if (state != IoState::kMoved) co_return state == IoState::kWantRead ? late() : broken();
  }
  co_return co_await read_answer(stream, now() + stream->passage->answer_time);
}

Task<Result<Response>> Http2Connection::read_answer(Stream* stream, Monotonic deadline) {
  InputBuffer& input = stream->upstream->input;
  MessageParser answer(stream->request.method == Method::kHead ? MessageParser::Kind::kHeadResponse
                                                               : MessageParser::Kind::kResponse,
                       site_.options.limits.header_bytes);
  std::string body;
  answer.collect(&body, kMaxAnswer);
  while (!answer.done()) {
    size_t consumed = 0;
    if (!input.empty()) {
      const auto put = answer.put(input.bytes());
      if (!put) co_return broken();
      consumed = *put;
      input.consume(consumed);
    }
    if (answer.done() || consumed > 0) continue;
    if (body.size() >= kMaxAnswer) co_return broken();
    const IoResult got = stream->upstream->channel.read(input.space(kPiece));
    if (got.state == IoState::kMoved) {
      stream->answer_begun = true;
      input.commit(got.bytes);
      continue;
    }
    if (got.state == IoState::kClosed && answer.put_end()) break;
    if (got.state != IoState::kWantRead) co_return broken();
    const IoState state = co_await upstream_ready(stream, IoState::kWantRead, deadline);
    if (state != IoState::kMoved) co_return state == IoState::kWantRead ? late() : broken();
  }
  if (answer.head().status < 200) co_return broken();
  if (answer.head().keep_alive && input.empty() && stream->open)
    shard_.upstreams().keep(*stream->passage->upstream, std::move(stream->upstream), now());
  co_return response_of(answer.head(), std::move(body));
}

// kMoved: ready; kWantRead: too late; kBroken: given up.
Task<IoState> Http2Connection::upstream_ready(Stream* stream, IoState want, Monotonic deadline) {
  if (!stream->open) co_return IoState::kBroken;
  bool overdue = false;
  Socket& socket = stream->upstream->socket;
  // shared_ptr: with the timer's callback, which may be on its way when the wait is over.
  const auto waiting = std::make_shared<bool>(true);
  Timer timer(shard_.executor(), deadline);
  timer.async_wait([waiting, &overdue, &socket](const boost::system::error_code& error) {
    if (error || !*waiting) return;
    overdue = true;
    boost::system::error_code ignored;
    std::ignore = socket.cancel(ignored);
  });
  const auto type = want == IoState::kWantWrite ? Socket::wait_write : Socket::wait_read;
  const auto [error] = co_await socket.async_wait(type, asio::as_tuple(kUseTask));
  *waiting = false;
  if (overdue) co_return IoState::kWantRead;
  co_return error || !stream->open ? IoState::kBroken : IoState::kMoved;
}

}  // namespace slipway::http

#include "http/upstream_link.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <tuple>

#include "http/shard.h"

namespace slipway::http {
namespace {

constexpr std::chrono::seconds kConnectTime{2};
constexpr size_t kFirstRead = 8 << 10;
constexpr size_t kPiece = 64 << 10;

Monotonic now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

UpstreamLink::UpstreamLink(Shard& shard, const Limits& limits)
    : shard_(shard), limits_(limits), place_(shard.links().insert(shard.links().end(), this)) {}

UpstreamLink::~UpstreamLink() {
  shard_.links().erase(place_);
}

Task<bool> UpstreamLink::connect(const Upstream* upstream) {
  answer_begun_ = false;
  connection_ = shard_.upstreams().take(*upstream);
  if (connection_) co_return true;
  auto socket = begin_connect(*upstream);
  if (!socket) co_return false;
  connection_ = std::make_unique<UpstreamConnection>(shard_.executor(), std::move(*socket));
  const IoState state = co_await ready(IoState::kWantWrite, now() + kConnectTime);
  if (state == IoState::kMoved && finish_connect(connection_->channel.fd())) co_return true;
  connection_.reset();
  co_return false;
}

void UpstreamLink::keep(const Upstream& upstream) {
  if (connection_->input.empty()) shard_.upstreams().keep(upstream, std::move(connection_), now());
  connection_.reset();
}

Task<UpstreamLink::Sent> UpstreamLink::write(std::string_view first, std::string_view second, bool more) {
  Pieces pieces{.first = first, .second = second};
  while (!pieces.empty()) {
    const IoResult result = connection_->channel.write(pieces, more);
    if (result.state == IoState::kMoved) {
      pieces.consume(result.bytes);
      continue;
    }
    if (result.state != IoState::kWantWrite) co_return Sent::kBroken;
    // It may have answered before it has read everything.
    if (answered()) co_return Sent::kAnsweredEarly;
    const IoState state = co_await ready(IoState::kWantWrite, now() + limits_.progress_time);
    if (state != IoState::kMoved) co_return state == IoState::kWantRead ? Sent::kLate : Sent::kBroken;
  }
  co_return Sent::kAll;
}

void UpstreamLink::watch(std::function<void()> on_answer) {
  watching_ = std::make_shared<bool>(true);
  connection_->socket.async_wait(Socket::wait_read, [watching = watching_, on_answer = std::move(on_answer)](
                                                        const boost::system::error_code& error) {
    if (!error && *watching) on_answer();
  });
}

void UpstreamLink::end_watch() {
  if (!watching_) return;
  *watching_ = false;
  watching_.reset();
  boost::system::error_code ignored;
  std::ignore = connection_->socket.cancel(ignored);
}

Task<PassageEnd> UpstreamLink::fill(Monotonic deadline) {
  if (cut_) co_return PassageEnd::kBroken;
  InputBuffer& bytes = connection_->input;
  const std::span<char> space = bytes.space(bytes.empty() ? kFirstRead : kPiece);
  late_ = false;
  deadline_ = deadline;
  const auto [error, got] = co_await connection_->socket.async_receive(
      asio::buffer(space.data(), space.size()), asio::as_tuple(kUseTask));
  deadline_ = Monotonic::max();
  bytes.commit(got);
  answer_begun_ = answer_begun_ || got > 0;
  if (got > 0 && !cut_) co_return PassageEnd::kAnswered;
  co_return late_ && !cut_ ? PassageEnd::kLate : PassageEnd::kBroken;
}

Task<PassageEnd> UpstreamLink::read_head(MessageParser* answer, std::string* raw, Monotonic deadline) {
  InputBuffer& bytes = connection_->input;
  for (;;) {
    if (!bytes.empty()) {
      const auto consumed = answer->put(bytes.bytes());
      if (!consumed) co_return PassageEnd::kBroken;
      if (answer->head_done()) raw->assign(bytes.bytes().substr(0, *consumed));
      bytes.consume(*consumed);
    }
    if (answer->head_done()) {
      const int status = answer->head().status;
      if (status == 101) co_return PassageEnd::kBroken;  // nobody asked for another protocol
      if (status >= 200) co_return PassageEnd::kAnswered;
      *answer = MessageParser(answer->kind(), limits_.header_bytes);
      answer->skip_fields();
      if (!bytes.empty()) continue;
    }
    const PassageEnd filled = co_await fill(deadline);
    if (filled != PassageEnd::kAnswered) co_return filled;
  }
}

void UpstreamLink::overdue() {
  late_ = true;
  boost::system::error_code ignored;
  if (connection_) std::ignore = connection_->socket.cancel(ignored);
}

void UpstreamLink::cut() {
  cut_ = true;
  overdue();
}

Task<IoState> UpstreamLink::ready(IoState want, Monotonic deadline) {
  if (cut_) co_return IoState::kBroken;
  late_ = false;
  deadline_ = deadline;
  const auto type = want == IoState::kWantWrite ? Socket::wait_write : Socket::wait_read;
  const auto [error] = co_await connection_->socket.async_wait(type, asio::as_tuple(kUseTask));
  deadline_ = Monotonic::max();
  if (cut_) co_return IoState::kBroken;
  if (late_) co_return IoState::kWantRead;
  co_return error ? IoState::kBroken : IoState::kMoved;
}

}  // namespace slipway::http

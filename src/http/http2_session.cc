// The part of a session that speaks HTTP/2.
#include <boost/asio/as_tuple.hpp>
#include <tuple>

#include "http/http2.h"
#include "http/shard.h"

namespace slipway::http {
namespace {

constexpr size_t kReadSize = 64 << 10;

}  // namespace

// Whether the peer begins with HTTP/2's preface; what it has sent stays in the input.
Task<bool> Session::begins_http2() {
  if (!co_await wait_for_request()) co_return false;
  const Monotonic deadline = std::chrono::steady_clock::now() + site_.options.limits.header_time;
  for (;;) {
    const std::string_view begun = input_.bytes().substr(0, kHttp2Preface.size());
    if (!kHttp2Preface.starts_with(begun)) co_return false;
    if (begun.size() == kHttp2Preface.size()) co_return true;
    const size_t got = co_await read_some(input_.space(kReadSize), deadline);
    if (got == 0) co_return false;
    input_.commit(got);
  }
}

void Session::wake() {
  woken_ = true;
  boost::system::error_code ignored;
  std::ignore = descriptor_.cancel(ignored);
}

// Waits as `ready` does, or until it is woken.
Task<Session::Wait> Session::ready_or_woken(IoState want, Monotonic deadline) {
  if (cut_) co_return Wait::kOver;
  if (std::exchange(woken_, false)) co_return Wait::kWoken;
  deadline_ = deadline;
  const auto type = want == IoState::kWantWrite ? Descriptor::wait_write : Descriptor::wait_read;
  std::ignore = co_await descriptor_.async_wait(type, asio::as_tuple(kUseTask));
  deadline_ = Monotonic::max();
  if (cut_) co_return Wait::kOver;
  co_return std::exchange(woken_, false) ? Wait::kWoken : Wait::kReady;
}

Task<void> Session::serve_http2() {
  Timer answered(shard_.executor());
  answered.expires_at(Monotonic::max());
  Http2Connection connection(site_, shard_, door_.get(), [this, &answered] {
    wake();
    answered.cancel();
  });
  co_await exchange_frames(&connection);
  // A client that sends the next call at this moment learns that it was not taken.
  connection.end();
  connection.pump(channel_);
  connection.abandon();
  // Their requests are still being worked at.
  while (connection.running() > 0) co_await answered.async_wait(asio::as_tuple(kUseTask));
}

Task<void> Session::exchange_frames(Http2Connection* connection) {
  bool ending = false;
  bool readable = false;
  bool in_order = true;
  for (;;) {
    if (readable) {
      const IoResult got = channel_.read(input_.space(kReadSize));
      readable = got.state == IoState::kMoved;
      if (readable) input_.commit(got.bytes);
      if (got.state == IoState::kClosed || got.state == IoState::kBroken) co_return;
    }
    if (!input_.empty()) {
      in_order = connection->put(input_.bytes());
      input_.consume(input_.bytes().size());
    }
    if (shard_.stopping() && !std::exchange(ending, true)) connection->end();
    const IoState sent = connection->pump(channel_);
    if (sent == IoState::kBroken || sent == IoState::kClosed) co_return;
    answering_ = connection->running() > 0 || sent != IoState::kMoved;
    if (connection->over() || !in_order || (ending && !answering_)) co_return;
    if (readable || channel_.has_buffered()) {
      readable = true;
      continue;
    }
    const bool idle = connection->idle();
    if (idle) {
      input_.release_if_empty();
      shard_.mark_idle(*this);
    }
    const bool blocked = sent != IoState::kMoved;
    const Wait waited = co_await ready_or_woken(blocked ? sent : IoState::kWantRead, connection->deadline());
    if (idle) shard_.mark_busy(*this);
    if (waited == Wait::kOver) co_return;
    readable = waited == Wait::kReady && !blocked;
  }
}

}  // namespace slipway::http

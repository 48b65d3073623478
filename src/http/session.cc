#include "http/session.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <tuple>

#include "base/log.h"
#include "http/shard.h"
#include "http/stream_wakeup.h"

namespace slipway::http {
namespace {

constexpr size_t kReadSize = 8 << 10;
constexpr size_t kFileBudget = 4 << 20;
// How long a peer may take to notice that its connection is over.
constexpr std::chrono::seconds kLingerTime{2};

Monotonic after(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

}  // namespace

Session::Session(Shard& shard, Site& site, UniqueFd connection, std::shared_ptr<const std::string> door)
    : shard_(shard),
      site_(site),
      door_(std::move(door)),
      http2_(site.options.http2 || (site.gateway != nullptr && door_ != nullptr)),
      descriptor_(shard.executor(), connection.get()),
      channel_(connection.get(), site.tls ? site.tls->accept(connection.get(), http2_) : TlsSession()),
      place_(shard.insert(*this)) {
  connection.release();  // the descriptor's from here on
  ++site_.open_connections;
}

Session::~Session() {
  shard_.remove(*this);
  --site_.open_connections;
}

void Session::cut() {
  cut_ = true;
  boost::system::error_code ignored;
  std::ignore = descriptor_.cancel(ignored);
  if (link_) link_->cut();
  if (wakeup_) wakeup_->timer.cancel();
}

void Session::cut_hard() {
  cut();
  ::shutdown(channel_.fd(), SHUT_RDWR);
}

Task<void> Session::run() {
  if (channel_.secure() && !co_await handshake()) co_return;
  if (http2_ && co_await begins_http2()) {
    co_await serve_http2();
  } else {
    while (co_await serve_one()) {
    }
  }
  exchange_.reset();
  if (!cut_) co_await linger();
}

Task<bool> Session::handshake() {
  const Monotonic deadline = after(site_.options.limits.header_time);
  for (;;) {
    const IoState state = channel_.handshake().state;
    if (state == IoState::kMoved) co_return true;
    if (state != IoState::kWantRead && state != IoState::kWantWrite) co_return false;
    if (!co_await ready(state, deadline)) co_return false;
  }
}

// False: the connection is to be closed.
Task<bool> Session::serve_one() {
  if (input_.empty()) {
    exchange_.reset();
    input_.release_if_empty();
    if (!co_await wait_for_request()) co_return false;
  }
  exchange_ = std::make_unique<Exchange>(site_, channel_, input_);
  if (!co_await read_head()) co_return false;
  if (!exchange_->answered() && is_passed_on()) co_return co_await forward();
  if (!exchange_->answered() && !exchange_->streamed() && exchange_->has_body())
    if (!co_await read_body()) co_return false;
  answering_ = true;
  if (!exchange_->answered()) co_await (exchange_->deferred() ? run_deferred() : run_handler());
  const bool more = exchange_->events() ? co_await stream_events() : co_await send(&exchange_->out());
  answering_ = false;
  co_return more && exchange_->keep_alive() && !cut_ && !shard_.stopping();
}

Task<bool> Session::wait_for_request() {
  if (channel_.has_buffered()) co_return true;
  shard_.mark_idle(*this);
  const bool come = co_await ready(IoState::kWantRead, after(site_.options.limits.idle_time));
  shard_.mark_busy(*this);
  co_return come;
}

Task<bool> Session::read_head() {
  const Monotonic deadline = after(site_.options.limits.header_time);
  MessageParser& parser = exchange_->parser();
  for (;;) {
    if (!input_.empty()) {
      const auto consumed = parser.put(input_.bytes());
      if (!consumed) {
        exchange_->refuse(consumed.error(), consumed.error().code == ErrorCode::kTooLarge ? 431 : 400);
        co_return true;
      }
      if (parser.head_done() && is_passed_on()) raw_head_.assign(input_.bytes().substr(0, *consumed));
      input_.consume(*consumed);
      if (parser.head_done()) break;
    }
    const size_t got = co_await read_some(input_.space(kReadSize), deadline);
    if (got == 0) {
      const bool late = !input_.empty() && std::chrono::steady_clock::now() >= deadline;
      if (!late) co_return false;
      exchange_->refuse({.code = ErrorCode::kTimeout,
                         .message = "the header of the request did not come in time",
                         .next = "send it at once",
                         .detail = ""},
                        408);
      exchange_->out().pump(channel_);
      co_return false;
    }
    input_.commit(got);
  }
  is_passed_on() ? exchange_->begin_passage() : exchange_->begin();
  co_return true;
}

Task<bool> Session::read_body() {
  if (!exchange_->small_body()) {
    Exchange* exchange = exchange_.get();
    if (exchange->deferred()) {
      exchange->authorise();
    } else if (!co_await on_worker(site_.handlers, [exchange] { exchange->authorise(); }, true)) {
      exchange_->refuse_busy();
      co_return true;
    }
    if (exchange_->answered()) co_return true;
  }
  if (exchange_->expects_continue() && input_.empty()) {
    Outgoing go_on("HTTP/1.1 100 Continue\r\n\r\n");
    if (!co_await send(&go_on)) co_return false;
  }
  co_return co_await (exchange_->parser().head().chunked ? read_body_of_chunks()
                                                         : read_body_of_known_length());
}

Task<bool> Session::read_body_of_known_length() {
  const uint64_t length = *exchange_->parser().head().length;
  std::string& body = exchange_->request().body;
  const size_t first = std::min<uint64_t>(length, input_.bytes().size());
  body.assign(input_.bytes().substr(0, first));
  input_.consume(first);
  size_t have = first;
  while (have < length) {
    // Grows with what comes, not with what was announced.
    if (have == body.size()) {
      const size_t grown = std::min<uint64_t>(length, std::max<size_t>(2 * have, kUnauthorisedBody));
      // Without filling what is about to be read. The library may offer more room than was asked for.
      body.resize_and_overwrite(grown, [grown](char*, size_t) { return grown; });
    }
    const size_t got =
        co_await read_some(std::span(body).subspan(have), after(site_.options.limits.progress_time));
    if (got == 0) co_return false;
    have += got;
  }
  co_return true;
}

Task<bool> Session::read_body_of_chunks() {
  MessageParser& parser = exchange_->parser();
  std::string& body = exchange_->request().body;
  const uint64_t limit = exchange_->body_limit();
  parser.collect(&body, limit + 1);
  while (!parser.done()) {
    size_t consumed = 0;
    if (!input_.empty()) {
      const auto put = parser.put(input_.bytes());
      if (!put) {
        exchange_->refuse(put.error(), 400);
        co_return true;
      }
      consumed = *put;
      input_.consume(consumed);
    }
    if (body.size() > limit) {
      exchange_->refuse(
          {.code = ErrorCode::kTooLarge,
           .message = fmt::format("the body is larger than the {} bytes this path takes", limit),
           .next = "",
           .detail = ""});
      co_return true;
    }
    if (consumed > 0 || parser.done()) continue;
    const size_t got = co_await read_some(input_.space(kReadSize), after(site_.options.limits.progress_time));
    if (got == 0) co_return false;
    input_.commit(got);
  }
  co_return true;
}

Task<void> Session::run_handler() {
  WorkerPool& pool = exchange_->streamed() ? site_.uploads : site_.handlers;
  Exchange* exchange = exchange_.get();
  if (!co_await on_worker(pool, [exchange] { exchange->handle(); }, true)) exchange_->refuse_busy();
}

Task<void> Session::run_deferred() {
  if (!exchange_->authorised()) exchange_->authorise();
  if (exchange_->answered()) co_return;
  Result<Response> response = co_await deferred_answer();
  exchange_->take(std::move(response));
}

// Not a coroutine itself: it only names what is awaited.
Task<Result<Response>> Session::deferred_answer() {
  auto initiate = [](auto handler, const Executor& executor, Exchange* exchange, Turn* turn) {
    Answer answer = [handler = std::move(handler),
                     guard = asio::make_work_guard(executor)](Result<Response> response) mutable {
      const Executor back = guard.get_executor();
      // Posted also on this thread: a handler may answer before it returns, while the coroutine is not yet
      // waiting.
      asio::post(back,
                 [handler = std::move(handler), guard = std::move(guard),
                  response = std::move(response)]() mutable { std::move(handler)(std::move(response)); });
    };
    exchange->route()->deferred(exchange->request(), *turn, std::move(answer));
  };
  return asio::async_initiate<const asio::use_awaitable_t<Executor>, void(Result<Response>)>(
      initiate, kUseTask, shard_.executor(), exchange_.get(), &shard_);
}

Task<bool> Session::send(Outgoing* out) {
  while (!out->done()) {
    IoState state = IoState::kBroken;
    if (out->from_file()) {
      Channel* channel = &channel_;
      IoState* outcome = &state;
      co_await on_worker(
          site_.handlers, [out, channel, outcome] { *outcome = out->pump(*channel, kFileBudget); }, false);
    } else {
      state = out->pump(channel_);
    }
    if (state == IoState::kBroken || state == IoState::kClosed) co_return false;
    if (state == IoState::kMoved) continue;
    if (!co_await ready(state, after(site_.options.limits.progress_time))) co_return false;
  }
  co_return true;
}

// Bytes of the request that nobody read would make the kernel reset the connection, and the peer could lose
// the answer with it: so the sending side is ended first, and what still comes is dropped for a while.
Task<void> Session::linger() {
  channel_.end();
  ::shutdown(channel_.fd(), SHUT_WR);
  const Monotonic deadline = after(kLingerTime);
  input_.consume(input_.bytes().size());
  while (co_await read_some(input_.space(kReadSize * 8), deadline) > 0) {
  }
}

Task<bool> Session::ready(IoState want, Monotonic deadline) {
  if (cut_) co_return false;
  deadline_ = deadline;
  const auto type = want == IoState::kWantWrite ? Descriptor::wait_write : Descriptor::wait_read;
  const auto [error] = co_await descriptor_.async_wait(type, asio::as_tuple(kUseTask));
  deadline_ = Monotonic::max();
  co_return !error && !cut_;
}

Task<size_t> Session::read_some(std::span<char> space, Monotonic deadline) {
  for (;;) {
    const IoResult got = channel_.read(space);
    if (got.state == IoState::kMoved) co_return got.bytes;
    if (got.state == IoState::kClosed || got.state == IoState::kBroken) co_return 0;
    if (std::chrono::steady_clock::now() >= deadline || !co_await ready(got.state, deadline)) co_return 0;
  }
}

// Not a coroutine itself: it only names what is awaited.
Task<bool> Session::on_worker(WorkerPool& pool, Work work, bool refusable) {
  auto initiate = [](auto handler, const Executor& executor, WorkerPool* target, Work task, bool may_refuse) {
    auto guard = asio::make_work_guard(executor);
    WorkerPool::Job job = [handler = std::move(handler), task = std::move(task),
                           guard = std::move(guard)](bool run) mutable {
      if (run) task();
      const Executor back = guard.get_executor();
      asio::post(back, [handler = std::move(handler), guard = std::move(guard), run]() mutable {
        std::move(handler)(run);
      });
    };
    if (!may_refuse) {
      target->push(std::move(job));
    } else if (!target->try_push(job)) {
      job(false);
    }
  };
  return asio::async_initiate<const asio::use_awaitable_t<Executor>, void(bool)>(
      initiate, kUseTask, shard_.executor(), &pool, std::move(work), refusable);
}

}  // namespace slipway::http

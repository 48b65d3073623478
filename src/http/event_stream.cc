// The part of a session that streams events.
#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <tuple>

#include "base/log.h"
#include "http/events.h"
#include "http/session.h"
#include "http/shard.h"
#include "http/stream_wakeup.h"

namespace slipway::http {
namespace {

// One look at the source, on a worker.
struct Look {
  std::string bytes;  // whole events
  bool empty = true;
  bool ended = false;
  std::optional<Error> error;
};

std::string stream_head(const Exchange& exchange) {
  const Framing framing = exchange.version() == 10 ? Framing::kUntilClose : Framing::kChunked;
  return response_head(event_response(nullptr), framing, 0, exchange.keep_alive(), exchange.version());
}

std::string wire_bytes(const Look& look, bool heartbeat, int version) {
  const std::string_view events =
      look.empty && heartbeat && !look.ended ? ":\n\n" : std::string_view(look.bytes);
  if (version == 10) return std::string(events);
  std::string bytes = events.empty() ? "" : fmt::format("{:x}\r\n{}\r\n", events.size(), events);
  if (look.ended) bytes += "0\r\n\r\n";
  return bytes;
}

void look_at(Exchange& exchange, bool authorise, Look& look) {
  try {
    if (authorise) {
      if (Status still = exchange.authorise_again(); !still) {
        look.error = std::move(still).error();
        return;
      }
    }
    auto events = exchange.events()->next();
    if (!events) {
      look.error = std::move(events).error();
      return;
    }
    look.empty = events->empty();
    look.ended = exchange.events()->ended();
    for (const Event& event : *events) append_event(look.bytes, event);
  } catch (const std::exception& exception) {
    look.error = Error{.code = ErrorCode::kInternal,
                       .message = "the server failed to read the events",
                       .next = "",
                       .detail = exception.what()};
  }
}

// Notices a peer that goes away while there is nothing to send to it.
void watch_peer(Descriptor& descriptor, int fd, std::shared_ptr<StreamWakeup> wakeup) {
  descriptor.async_wait(Descriptor::wait_read,
                        [fd, wakeup = std::move(wakeup)](boost::system::error_code error) {
                          if (error) return;
                          char byte = 0;
                          const ssize_t got = ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
                          if (got > 0 || (got < 0 && errno == EAGAIN)) return;
                          wakeup->peer_gone = true;
                          wakeup->timer.cancel();
                        });
}

}  // namespace

Task<bool> Session::stream_events() {
  answering_ = false;  // a stream does not hold up a server that stops
  if (shard_.stopping()) co_return false;
  wakeup_ = std::make_shared<StreamWakeup>(shard_.executor());
  std::vector<Notifier::Subscription> subscriptions;
  for (std::string& topic : exchange_->events()->topics())
    subscriptions.push_back(
        site_.notifier.subscribe(std::move(topic), [wakeup = wakeup_] { wakeup->signal(); }));
  watch_peer(descriptor_, channel_.fd(), wakeup_);
  const bool in_order = co_await send_events();
  boost::system::error_code ignored;
  std::ignore = descriptor_.cancel(ignored);  // the watch on the peer
  subscriptions.clear();
  wakeup_.reset();
  co_return in_order;
}

// True: the source has ended and the peer was told so; the connection is as after any answer.
Task<bool> Session::send_events() {
  Exchange* exchange = exchange_.get();
  const auto heartbeat = site_.options.limits.event_heartbeat;
  Monotonic authorised = std::chrono::steady_clock::now();
  std::string head = stream_head(*exchange);
  bool begun = false;
  Pause last = Pause::kNews;
  for (;;) {
    wakeup_->signalled = false;
    const bool authorise = std::chrono::steady_clock::now() - authorised >= heartbeat;
    if (authorise) authorised = std::chrono::steady_clock::now();
    Look look;
    Look* result = &look;
    co_await on_worker(
        site_.handlers, [exchange, authorise, result] { look_at(*exchange, authorise, *result); }, false);
    if (look.error && !begun) {
      exchange->fail_with(*look.error);
      co_return co_await send(&exchange->out());
    }
    if (look.error) {
      // Without its last chunk the stream is broken for the peer, which asks again and gets the error whole.
      log_info("http.events_ended", {{"route", exchange->route()->pattern}, {"error", *look.error}});
      co_return false;
    }
    std::string bytes = std::exchange(head, "");
    if (!exchange->head_only()) bytes += wire_bytes(look, last == Pause::kHeartbeat, exchange->version());
    begun = true;
    Outgoing out(std::move(bytes));
    if (!co_await send(&out)) co_return false;
    if (look.ended || exchange->head_only()) co_return true;
    last = look.empty ? co_await pause_stream() : Pause::kNews;
    if (last == Pause::kOver || cut_ || shard_.stopping()) co_return false;
  }
}

// Until there may be news, the heartbeat is due, or the stream is over: cut, or left by its peer.
Task<Session::Pause> Session::pause_stream() {
  if (cut_ || wakeup_->peer_gone) co_return Pause::kOver;
  if (wakeup_->signalled) co_return Pause::kNews;
  wakeup_->timer.expires_after(site_.options.limits.event_heartbeat);
  const auto [error] = co_await wakeup_->timer.async_wait(asio::as_tuple(kUseTask));
  if (cut_ || wakeup_->peer_gone) co_return Pause::kOver;
  co_return error ? Pause::kNews : Pause::kHeartbeat;
}

}  // namespace slipway::http

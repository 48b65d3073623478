// One connection: a coroutine on its shard's thread that reads requests, hands them to workers and sends
// answers.
//
// Invariants
//   1. All members are used on the shard's thread alone; channel, input and exchange also by a worker while
//   the
//      session waits for it (exchange.h).
//   2. Every wait for the peer has a deadline, which the shard's sweep enforces by `cut`.
//   3. While idle a session holds no buffers.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>

#include "base/clock.h"
#include "base/fd.h"
#include "http/exchange.h"

namespace slipway::http {

namespace asio = boost::asio;

// The concrete executor instead of Asio's type-erased one: cheaper by an indirection on every step.
using Executor = asio::io_context::executor_type;
template <class T>
using Task = asio::awaitable<T, Executor>;
constexpr asio::use_awaitable_t<Executor> kUseTask;
using Descriptor = asio::posix::basic_stream_descriptor<Executor>;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Executor>;

class Shard;
struct StreamWakeup;

class Session {
 public:
  // The connection is non-blocking.
  Session(Shard& shard, Site& site, UniqueFd connection);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Task<void> run();

  // Ends whatever it waits for; it then closes without waiting again.
  void cut();
  // The same, also when a worker is at it: the connection is shut under its hands.
  void cut_hard();
  Monotonic deadline() const { return deadline_; }
  // Whether a request has been taken that is to be answered before the server stops.
  bool answering() const { return answering_; }
  const Route* route() const { return exchange_ ? exchange_->route() : nullptr; }

 private:
  friend class Shard;

  Task<bool> handshake();
  Task<bool> serve_one();
  Task<bool> wait_for_request();
  Task<bool> read_head();
  Task<bool> read_body();
  Task<bool> read_body_of_known_length();
  Task<bool> read_body_of_chunks();
  Task<void> run_handler();
  Task<void> run_deferred();
  Task<Result<Response>> deferred_answer();
  Task<bool> send(Outgoing* out);
  Task<void> linger();

  // event_stream.cc
  enum class Pause { kNews, kHeartbeat, kOver };
  Task<bool> stream_events();
  Task<bool> send_events();
  Task<Pause> pause_stream();

  // Waits until the socket is ready for `want`; false when the deadline passed or the session was cut.
  Task<bool> ready(IoState want, Monotonic deadline);
  // Reads into the buffer, or reports the end of the connection (0).
  Task<size_t> read_some(std::span<char> space, Monotonic deadline);
  // Runs `work` on the pool. False: the queue is full (only if `refusable`).
  using Work = std::move_only_function<void()>;
  Task<bool> on_worker(WorkerPool& pool, Work work, bool refusable);

  Shard& shard_;
  Site& site_;
  Descriptor descriptor_;
  Channel channel_;
  InputBuffer input_;
  std::unique_ptr<Exchange> exchange_;
  std::shared_ptr<StreamWakeup> wakeup_;  // shared with the Notifier's callbacks, while events are streamed
  Monotonic deadline_ = Monotonic::max();
  bool cut_ = false;
  bool answering_ = false;
  bool idle_ = false;                    // which of the shard's lists it is in
  std::list<Session*>::iterator place_;  // and where
};

}  // namespace slipway::http

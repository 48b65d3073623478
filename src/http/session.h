// One connection: a coroutine on its shard's thread that reads requests, hands them to workers and sends
// answers; one after the other in HTTP/1.1, many at a time in HTTP/2 where the server is asked to speak it.
//
// Invariants
//   1. All members are used on the shard's thread alone; channel, input and exchange also by a worker while
//   the
//      session waits for it (exchange.h).
//   2. Every wait for the peer has a deadline, which the shard's sweep enforces by `cut`.
//   3. While idle a session holds no buffers.
#pragma once

#include <list>

#include "base/clock.h"
#include "base/fd.h"
#include "http/exchange.h"
#include "http/io_types.h"
#include "http/upstream_link.h"

namespace slipway::http {

class Http2Connection;
class Shard;
struct StreamWakeup;

class Session {
 public:
  // The connection is non-blocking. `door`: the one it came through, null for the server's own port.
  Session(Shard& shard, Site& site, UniqueFd connection, std::shared_ptr<const std::string> door);
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

  // forward.cc: a request that another server answers. Nothing here outlives the call.
  bool is_passed_on() const;
  Task<bool> forward();
  enum class Passed { kGoOn, kClose, kMayRepeat };
  Task<Passed> pass(const Passage* passage, bool may_repeat);
  Task<bool> read_small_body();
  bool has_whole_body() const;
  Task<bool> refuse_passage(Response response);
  Task<bool> answer_passage(Response response);
  using BodySent = UpstreamLink::Sent;
  Task<BodySent> send_request(const Passage* passage);
  Task<BodySent> pass_rest(Task<BodySent> body);
  Task<BodySent> pass_body_of_known_length(uint64_t left);
  Task<BodySent> pass_body_of_chunks();
  Task<bool> fill_input();

  // forward_answer.cc: the way back. kAnswered where all went well.
  Task<PassageEnd> pass_answer(MessageParser* answer, const Passage* passage);
  Task<PassageEnd> pass_answer_of_known_length(std::string_view head, uint64_t length);
  Task<PassageEnd> pass_answer_of_others(MessageParser* answer, std::string head, bool chunked);
  Task<bool> write_client(std::string_view first, std::string_view second = {});

  // event_stream.cc
  enum class Pause { kNews, kHeartbeat, kOver };
  Task<bool> stream_events();
  Task<bool> send_events();
  Task<Pause> pause_stream();

  // http2_session.cc
  enum class Wait { kReady, kWoken, kOver };
  Task<bool> begins_http2();
  Task<void> serve_http2();
  Task<void> exchange_frames(Http2Connection* connection);
  Task<Wait> ready_or_woken(IoState want, Monotonic deadline);
  void wake();

  // Waits until the socket is ready for `want`; false when the deadline passed or the session was cut.
  Task<bool> ready(IoState want, Monotonic deadline);
  // Reads into the buffer, or reports the end of the connection (0).
  Task<size_t> read_some(std::span<char> space, Monotonic deadline);
  // Runs `work` on the pool. False: the queue is full (only if `refusable`).
  using Work = std::move_only_function<void()>;
  Task<bool> on_worker(WorkerPool& pool, Work work, bool refusable);

  Shard& shard_;
  Site& site_;
  const std::shared_ptr<const std::string> door_;  // shared with the door and its other sessions
  const bool http2_;                               // whether the peer may speak it
  Descriptor descriptor_;
  Channel channel_;
  InputBuffer input_;
  std::unique_ptr<Exchange> exchange_;
  std::shared_ptr<StreamWakeup> wakeup_;  // shared with the Notifier's callbacks, while events are streamed
  std::string raw_head_;                  // of a request that is passed on, then of its answer
  std::unique_ptr<UpstreamLink> link_;    // made with the first one
  Monotonic deadline_ = Monotonic::max();
  bool cut_ = false;
  bool answering_ = false;
  bool woken_ = false;
  bool idle_ = false;                    // which of the shard's lists it is in
  std::list<Session*>::iterator place_;  // and where
};

}  // namespace slipway::http

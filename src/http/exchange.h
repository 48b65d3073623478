// One request and its answer, without the waiting.
//
// Invariants
//   1. An exchange belongs to one thread at a time: to its session's I/O thread, or, while the session waits
//   for a
//      job it has handed to a worker, to that worker. The hand-over is the pool's queue.
//   2. The authoriser has agreed before the handler runs, before a streamed body is read, and before more
//   than
//      kUnauthorisedBody bytes of a buffered one are.
//   3. Exactly one answer is set. One that leaves part of the request unread also ends the connection.
#pragma once

#include <memory>
#include <optional>

#include "http/incoming_body.h"
#include "http/outgoing.h"
#include "http/parser.h"
#include "http/site.h"

namespace slipway::http {

constexpr size_t kUnauthorisedBody = 64 << 10;

std::optional<Method> method_from_text(std::string_view text);

class Exchange {
 public:
  Exchange(Site& site, Channel& channel, InputBuffer& input);

  MessageParser& parser() { return parser_; }
  Request& request() { return request_; }
  const Route* route() const { return route_; }
  Outgoing& out() { return out_; }
  const std::shared_ptr<EventSource>& events() const { return events_; }

  bool answered() const { return answered_; }
  bool keep_alive() const { return keep_alive_; }
  int version() const { return version_; }
  bool head_only() const { return request_.method == Method::kHead; }
  bool streamed() const { return route_ != nullptr && route_->body == BodyMode::kStreamed; }
  bool deferred() const { return route_ != nullptr && route_->deferred; }
  bool authorised() const { return authorised_; }
  bool expects_continue() const { return expects_continue_; }
  uint64_t body_limit() const { return route_->body_limit; }
  bool has_body() const { return parser_.head().chunked || parser_.head().length.value_or(0) > 0; }
  // Whether the body is small enough to be read before anyone has looked at the token.
  bool small_body() const { return !parser_.head().chunked && *parser_.head().length <= kUnauthorisedBody; }

  // On the I/O thread, once the head is there: finds the route, or answers why not.
  void begin();
  // The same for a request that is passed on: nothing of it but its head is looked at here.
  void begin_passage();
  // Answers instead of the server that it was to be passed on to.
  void answer_passage(Response response);
  // Nobody reads what is left of the request: the connection ends with this answer.
  void leave_unread() { keep_alive_ = false; }
  // Answers instead of the handler. `status` 0: the error's own.
  void refuse(const Error& error, int status = 0);
  // Answers with a failure of the handler or its event source.
  void fail_with(const Error& error);
  // Refuses because the queue of the workers is full.
  void refuse_busy();

  // On a worker, for a deferred route on the I/O thread. Answers when the authoriser refuses.
  void authorise();
  // On a worker: authorises unless that is done, runs the handler, and sends what goes out at once.
  void handle();
  // On the I/O thread: what a deferred handler has answered.
  void take(Result<Response> response);
  // On a worker, for a stream that has lasted: whether the token is still good.
  Status authorise_again();

 private:
  // Runs `step`; what it throws becomes the answer: it fails its own request and no other.
  void guarded(void (Exchange::*step)());
  void find_caller();
  void begin_any();
  Status prepare();
  Status check_head(const Head& head);
  Status find_route(const Head& head, std::string_view path);
  void run_handler();
  void answer(Response response);

  Site& site_;
  Channel& channel_;
  InputBuffer& input_;
  MessageParser parser_;
  Request request_;
  const Route* route_ = nullptr;
  Outgoing out_;
  std::shared_ptr<EventSource> events_;  // the response's; this exchange is its one user
  std::string allow_;                    // for 405
  int refusal_ = 0;                      // status instead of the error's own
  int version_ = 11;
  bool keep_alive_ = false;
  bool expects_continue_ = false;
  bool authorised_ = false;
  bool answered_ = false;
};

}  // namespace slipway::http

#include "http/exchange.h"

#include <fmt/format.h>

#include <array>
#include <exception>

#include "base/log.h"

namespace slipway::http {
namespace {

// A worker gives others a turn after this much of a file.
constexpr size_t kSendBudget = 4 << 20;

std::string joined(const std::vector<Method>& methods) {
  std::string text;
  for (const Method method : methods) text += (text.empty() ? "" : ", ") + std::string(to_text(method));
  return text;
}

}  // namespace

std::optional<Method> method_from_text(std::string_view text) {
  constexpr std::array kMethods{Method::kGet, Method::kHead,  Method::kPost,
                                Method::kPut, Method::kPatch, Method::kDelete};
  for (const Method method : kMethods)
    if (to_text(method) == text) return method;
  return std::nullopt;
}

Exchange::Exchange(Site& site, Channel& channel, InputBuffer& input)
    : site_(site),
      channel_(channel),
      input_(input),
      parser_(MessageParser::Kind::kRequest, site.options.limits.header_bytes) {}

void Exchange::begin_any() {
  ++site_.requests;
  const Head& head = parser_.head();
  version_ = head.version;
  keep_alive_ = head.keep_alive && !site_.stopping;
  const auto expect = head.headers.find("expect");
  expects_continue_ = expect != head.headers.end() && has_body();
}

void Exchange::begin_passage() {
  begin_any();
  const Head& head = parser_.head();
  if (head.method == "HEAD") request_.method = Method::kHead;
  if (const Status good = check_head(head); !good) refuse(good.error());
}

void Exchange::answer_passage(Response response) {
  answer(std::move(response));
}

void Exchange::begin() {
  begin_any();
  if (const Status ready = prepare(); !ready) refuse(ready.error(), refusal_);
}

Status Exchange::check_head(const Head& head) {
  SLIPWAY_TRY(site_.hosts.check(head));
  const auto coding = head.headers.find("transfer-encoding");
  if (coding != head.headers.end() && (!head.chunked || coding->second.contains(','))) {
    keep_alive_ = false;  // nobody knows where its body ends and the next request begins
    return fail(ErrorCode::kUnsupported, "only the transfer coding 'chunked' is understood");
  }
  return {};
}

Status Exchange::prepare() {
  Head& head = parser_.head();
  SLIPWAY_TRY(check_head(head));
  if (const auto expect = head.headers.find("expect");
      expect != head.headers.end() && expect->second != "100-continue") {
    refusal_ = 417;
    return fail(ErrorCode::kInvalidArgument, "the only expectation understood is '100-continue'");
  }
  const size_t question = head.target.find('?');
  request_.path = head.target.substr(0, question);
  if (const auto method = method_from_text(head.method)) request_.method = *method;
  SLIPWAY_TRY(find_route(head, request_.path));
  if (question != std::string::npos) {
    SLIPWAY_ASSIGN(request_.query, parse_query(std::string_view(head.target).substr(question + 1)));
  }
  if (head.length.value_or(0) > route_->body_limit)
    return fail(ErrorCode::kTooLarge, fmt::format("the body has {} bytes; this path takes {} at most",
                                                  *head.length, route_->body_limit));
  request_.headers = std::move(head.headers);
  return {};
}

Status Exchange::find_route(const Head& head, std::string_view path) {
  const bool known = method_from_text(head.method).has_value();
  std::vector<Method> allowed;
  auto match = site_.router.find(known ? request_.method : Method::kGet, path, &allowed);
  if (match && !known) allowed = site_.router.methods_at(path);
  if (!allowed.empty()) {
    refusal_ = 405;
    allow_ = joined(allowed);
    return fail(ErrorCode::kUnsupported,
                fmt::format("this path does not take the method of the request; it takes {}", allow_));
  }
  if (!match) return fail(std::move(match).error());
  route_ = match->route;
  request_.params = std::move(match->params);
  return {};
}

void Exchange::refuse(const Error& error, int status) {
  Response response = error_response(error);
  if (status != 0) response.status = status;
  if (!allow_.empty()) response.headers["Allow"] = allow_;
  // A request without a body is over: the connection can go on. After a head that is not HTTP nothing can.
  if (!parser_.head_done() || has_body()) keep_alive_ = false;
  answer(std::move(response));
}

void Exchange::answer(Response response) {
  keep_alive_ = keep_alive_ && !site_.stopping;
  out_ = Outgoing(std::move(response), head_only(), keep_alive_, version_);
  answered_ = true;
}

void Exchange::fail_with(const Error& error) {
  if (http_status(error.code) == 500)
    log_error("http.request_failed",
              {{"method", to_text(request_.method)}, {"route", route_->pattern}, {"error", error}});
  answer(error_response(error));
}

void Exchange::refuse_busy() {
  refuse({.code = ErrorCode::kUnavailable,
          .message = "the server has more requests waiting than it can hold",
          .next = "try again in a second",
          .detail = ""});
}

void Exchange::guarded(void (Exchange::*step)()) {
  std::string thrown;
  try {
    return (this->*step)();
  } catch (const std::exception& exception) {
    thrown = exception.what();
  } catch (...) {
    thrown = "an exception of unknown type";
  }
  request_.stream = nullptr;
  if (streamed() && has_body()) keep_alive_ = false;
  fail_with({.code = ErrorCode::kInternal,
             .message = "the server failed to handle the request",
             .next = "try again; the server's log says more",
             .detail = std::move(thrown)});
}

void Exchange::authorise() {
  guarded(&Exchange::find_caller);
}

void Exchange::handle() {
  guarded(&Exchange::run_handler);
  if (answered_) out_.pump(channel_, kSendBudget);
}

void Exchange::find_caller() {
  auto caller = site_.authoriser.authorise(request_, route_->access);
  if (caller) {
    request_.caller = std::move(*caller);
    authorised_ = true;
    return;
  }
  // What is left of the body stays unread.
  if (streamed() ? has_body() : has_body() && !small_body()) keep_alive_ = false;
  fail_with(caller.error());
}

Status Exchange::authorise_again() {
  auto caller = site_.authoriser.authorise(request_, route_->access);
  if (!caller) return fail(std::move(caller).error());
  return {};
}

void Exchange::run_handler() {
  if (!authorised_) find_caller();
  if (answered_) return;
  std::optional<IncomingBody> body;
  if (streamed()) {
    body.emplace(channel_, input_, parser_,
                 IncomingBody::Rules{.limit = route_->body_limit,
                                     .progress_time = site_.options.limits.progress_time,
                                     .expects_continue = expects_continue_});
    request_.stream = &*body;
  }
  auto response = route_->handler(request_);
  request_.stream = nullptr;
  if (body && !body->ended()) {
    while (body->nearly_ended() && !body->ended())
      if (!body->next()) break;
    if (!body->ended()) keep_alive_ = false;
  }
  take(std::move(response));
}

void Exchange::take(Result<Response> response) {
  if (!response) return fail_with(response.error());
  if (auto* source = std::get_if<std::shared_ptr<EventSource>>(&response->body)) {
    events_ = std::move(*source);
    return;
  }
  answer(std::move(*response));
}

}  // namespace slipway::http

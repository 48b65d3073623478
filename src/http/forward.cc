// The half of Session that carries a request to the server which answers it.
//
// Invariants
//   1. A request is offered to another server only while nothing of it has been sent to the one before; or
//      once more where the gateway says that it may be done twice, while nothing of an answer has come.
//   2. `Gateway::ended` follows each `choose` that gave a passage, exactly once.
//   3. No more than one piece of a body is held at a time, in either direction.
#include <fmt/format.h>

#include <optional>
#include <tuple>
#include <vector>

#include "http/forwarded_head.h"
#include "http/passage_record.h"
#include "http/session.h"
#include "http/shard.h"

namespace slipway::http {
namespace {

constexpr size_t kPiece = 64 << 10;

Monotonic now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

bool Session::is_passed_on() const {
  return site_.gateway != nullptr &&
         (door_ != nullptr || site_.gateway->takes(exchange_->parser().head().target));
}

// False: the connection is to be closed.
Task<bool> Session::forward() {
  answering_ = true;
  if (has_folded_field(raw_head_)) {
    co_return co_await refuse_passage(error_response({.code = ErrorCode::kInvalidArgument,
                                                      .message = "a header field goes on over several lines",
                                                      .next = "write each field on one line",
                                                      .detail = ""}));
  }
  if (!link_) link_ = std::make_unique<UpstreamLink>(shard_, site_.options.limits);
  std::vector<uint64_t> tried;
  std::optional<Response> failure;  // of the one that went away, for when no other takes the request
  for (;;) {
    auto choice =
        site_.gateway->choose(exchange_->parser().head(), door_ ? std::string_view(*door_) : "", tried);
    if (!choice) co_return co_await refuse_passage(failure ? std::move(*failure) : std::move(choice.error()));
    const Passage passage = std::move(*choice);
    if (passage.repeatable && !co_await read_small_body()) {
      site_.gateway->ended(passage, PassageEnd::kClientGone, 0, {});
      co_return false;
    }
    if (co_await link_->connect(passage.upstream.get())) {
      const Passed passed = co_await pass(&passage, !failure);
      if (passed != Passed::kMayRepeat) co_return passed == Passed::kGoOn;
      failure = site_.gateway->refusal(passage, failure_of(PassageEnd::kBroken));
    } else {
      site_.gateway->ended(passage, PassageEnd::kNotConnected, 0, {});
    }
    if (cut_) co_return false;
    tried.push_back(passage.upstream->id);
  }
}

Task<Session::Passed> Session::pass(const Passage* passage, bool may_repeat) {
  PassageRecord record(*site_.gateway, *passage);
  const bool body_at_hand = has_whole_body();
  const BodySent sent = co_await send_request(passage);
  MessageParser answer(
      exchange_->head_only() ? MessageParser::Kind::kHeadResponse : MessageParser::Kind::kResponse,
      site_.options.limits.header_bytes);
  answer.skip_fields();
  bool begun = false;
  if (sent == BodySent::kClientGone) {
    record.end = PassageEnd::kClientGone;
  } else if (sent == BodySent::kLate) {
    record.end = PassageEnd::kLate;
  } else {
    record.end = co_await link_->read_head(&answer, &raw_head_, now() + passage->answer_time);
    begun = record.end == PassageEnd::kAnswered;
  }
  if (may_repeat && passage->repeatable && body_at_hand && record.end == PassageEnd::kBroken && !cut_ &&
      !link_->answer_begun()) {
    record.end = PassageEnd::kNotConnected;
    link_->drop();
    co_return Passed::kMayRepeat;
  }
  if (body_at_hand) input_.consume(exchange_->parser().head().length.value_or(0));
  if (sent != BodySent::kAll || (!begun && !body_at_hand)) exchange_->leave_unread();
  if (begun) {
    record.status = answer.head().status;
    record.end = co_await pass_answer(&answer, passage);
  }
  const bool whole = begun && record.end == PassageEnd::kAnswered;
  if (whole && sent == BodySent::kAll && answer.head().keep_alive)
    link_->keep(*passage->upstream);
  else
    link_->drop();
  answering_ = false;
  bool goes_on = false;
  if (begun)
    goes_on = whole && exchange_->keep_alive() && !cut_ && !shard_.stopping();
  else if (record.end != PassageEnd::kClientGone && !cut_)
    goes_on = co_await answer_passage(site_.gateway->refusal(*passage, failure_of(record.end)));
  co_return goes_on ? Passed::kGoOn : Passed::kClose;
}

// A small body is waited for before it is sent, so that it can be sent again. False: the client is gone.
Task<bool> Session::read_small_body() {
  const Head& head = exchange_->parser().head();
  if (!exchange_->has_body() || !exchange_->small_body() || exchange_->expects_continue()) co_return true;
  while (input_.bytes().size() < *head.length) {
    const size_t missing = *head.length - input_.bytes().size();
    const size_t got = co_await read_some(input_.space(missing), now() + site_.options.limits.progress_time);
    if (got == 0) co_return false;
    input_.commit(got);
  }
  co_return true;
}

bool Session::has_whole_body() const {
  const Head& head = exchange_->parser().head();
  return !head.chunked && head.length.value_or(0) <= input_.bytes().size();
}

// A small body that is here already is passed over, so that the connection can go on.
Task<bool> Session::refuse_passage(Response response) {
  if (has_whole_body())
    input_.consume(exchange_->parser().head().length.value_or(0));
  else
    exchange_->leave_unread();
  return answer_passage(std::move(response));
}

// Answers in the server's stead.
Task<bool> Session::answer_passage(Response response) {
  exchange_->answer_passage(std::move(response));
  const bool sent = co_await send(&exchange_->out());
  answering_ = false;
  co_return sent && exchange_->keep_alive() && !cut_ && !shard_.stopping();
}

Task<Session::BodySent> Session::send_request(const Passage* passage) {
  const Head& head = exchange_->parser().head();
  const bool has_length = head.length && (*head.length > 0 || head.method != "GET");
  const std::string text =
      forwarded_request(raw_head_, head, *passage,
                        {.length = has_length ? head.length : std::nullopt, .chunked = head.chunked});
  if (!exchange_->has_body()) co_return co_await link_->write(text);
  if (exchange_->expects_continue() && input_.empty() &&
      !co_await write_client("HTTP/1.1 100 Continue\r\n\r\n"))
    co_return BodySent::kClientGone;
  if (head.chunked) {
    const BodySent sent = co_await link_->write(text, {}, true);
    co_return sent == BodySent::kAll ? co_await pass_rest(pass_body_of_chunks()) : sent;
  }
  // What is here already goes out with the head. All of it stays until an answer comes: it may go out again.
  const size_t first = std::min<uint64_t>(*head.length, input_.bytes().size());
  const bool all = first == *head.length;
  const BodySent sent = co_await link_->write(text, input_.bytes().substr(0, first), !all);
  if (all) co_return sent;
  input_.consume(first);
  if (sent != BodySent::kAll) co_return sent;
  co_return co_await pass_rest(pass_body_of_known_length(*head.length - first));
}

// While the client's bytes are waited for, an answer may come that makes them needless.
Task<Session::BodySent> Session::pass_rest(Task<BodySent> body) {
  link_->watch([this] {
    boost::system::error_code ignored;
    std::ignore = descriptor_.cancel(ignored);
  });
  const BodySent sent = co_await std::move(body);
  link_->end_watch();
  co_return sent == BodySent::kClientGone && !cut_ && link_->answered() ? BodySent::kAnsweredEarly : sent;
}

Task<Session::BodySent> Session::pass_body_of_known_length(uint64_t left) {
  while (left > 0) {
    if (input_.empty() && !co_await fill_input()) co_return BodySent::kClientGone;
    if (link_->answered()) co_return BodySent::kAnsweredEarly;
    const size_t size = std::min<uint64_t>(left, input_.bytes().size());
    const BodySent sent = co_await link_->write(input_.bytes().substr(0, size));
    if (sent != BodySent::kAll) co_return sent;
    input_.consume(size);
    left -= size;
  }
  co_return BodySent::kAll;
}

Task<Session::BodySent> Session::pass_body_of_chunks() {
  MessageParser& parser = exchange_->parser();
  std::string piece;
  std::string framed;
  parser.collect(&piece, kPiece);
  while (!parser.done()) {
    size_t consumed = 0;
    if (!input_.empty()) {
      const auto put = parser.put(input_.bytes());
      if (!put) co_return BodySent::kClientGone;  // what it sends is not HTTP any more
      consumed = *put;
      input_.consume(consumed);
    }
    if (!piece.empty()) {
      if (link_->answered()) co_return BodySent::kAnsweredEarly;
      framed = fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
      piece.clear();
      const BodySent sent = co_await link_->write(framed);
      if (sent != BodySent::kAll) co_return sent;
      continue;
    }
    if (consumed == 0 && !parser.done() && !co_await fill_input()) co_return BodySent::kClientGone;
  }
  co_return co_await link_->write("0\r\n\r\n");
}

Task<bool> Session::fill_input() {
  const size_t got = co_await read_some(input_.space(kPiece), now() + site_.options.limits.progress_time);
  input_.commit(got);
  co_return got > 0;
}

}  // namespace slipway::http

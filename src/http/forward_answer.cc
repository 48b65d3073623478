// The half of Session that carries the answer of another server back to the client.
#include <fmt/format.h>

#include "http/forwarded_head.h"
#include "http/session.h"

namespace slipway::http {
namespace {

constexpr size_t kPiece = 64 << 10;

Monotonic now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

Task<PassageEnd> Session::pass_answer(MessageParser* answer, const Passage* passage) {
  const Head& head = answer->head();
  const bool body_follows = !answer->done();
  const bool known = head.length.has_value() && !head.chunked;
  // A client of HTTP/1.0 knows no chunks: there the body ends with the connection.
  const bool chunked = body_follows && !known && exchange_->version() >= 11;
  if (body_follows && !known && !chunked) exchange_->leave_unread();
  if (has_folded_field(raw_head_)) co_return PassageEnd::kBroken;
  std::string text =
      forwarded_answer(raw_head_, head, passage->request_id,
                       {.body = {.length = known ? head.length : std::nullopt, .chunked = chunked},
                        .keep_alive = exchange_->keep_alive(),
                        .version = exchange_->version()});
  if (!body_follows) co_return co_await write_client(text) ? PassageEnd::kAnswered : PassageEnd::kClientGone;
  if (known) co_return co_await pass_answer_of_known_length(text, *head.length);
  co_return co_await pass_answer_of_others(answer, std::move(text), chunked);
}

Task<PassageEnd> Session::pass_answer_of_known_length(std::string_view head, uint64_t length) {
  InputBuffer& input = link_->input();
  const size_t first = std::min<uint64_t>(length, input.bytes().size());
  if (!co_await write_client(head, input.bytes().substr(0, first))) co_return PassageEnd::kClientGone;
  input.consume(first);
  for (uint64_t left = length - first; left > 0;) {
    if (input.empty()) {
      const PassageEnd filled = co_await link_->fill(now() + site_.options.limits.progress_time);
      if (filled != PassageEnd::kAnswered) co_return filled;
    }
    const size_t size = std::min<uint64_t>(left, input.bytes().size());
    if (!co_await write_client(input.bytes().substr(0, size))) co_return PassageEnd::kClientGone;
    input.consume(size);
    left -= size;
  }
  co_return PassageEnd::kAnswered;
}

// Chunks, or all until the server closes the connection.
Task<PassageEnd> Session::pass_answer_of_others(MessageParser* answer, std::string out, bool chunked) {
  InputBuffer& input = link_->input();
  std::string piece;
  answer->collect(&piece, kPiece);
  for (;;) {
    size_t consumed = 0;
    if (!input.empty() && !answer->done()) {
      const auto put = answer->put(input.bytes());
      if (!put) co_return PassageEnd::kBroken;
      consumed = *put;
      input.consume(consumed);
    }
    if (!piece.empty()) out += chunked ? fmt::format("{:x}\r\n{}\r\n", piece.size(), piece) : piece;
    piece.clear();
    if (answer->done() && chunked) out += "0\r\n\r\n";
    if (!out.empty() && !co_await write_client(out)) co_return PassageEnd::kClientGone;
    out.clear();
    if (answer->done()) co_return PassageEnd::kAnswered;
    if (consumed > 0) continue;
    const PassageEnd filled = co_await link_->fill(now() + site_.options.limits.progress_time);
    if (filled == PassageEnd::kAnswered) continue;
    if (filled != PassageEnd::kBroken || !answer->put_end()) co_return filled;
  }
}

Task<bool> Session::write_client(std::string_view first, std::string_view second) {
  Pieces pieces{.first = first, .second = second};
  while (!pieces.empty()) {
    const IoResult result = channel_.write(pieces);
    if (result.state == IoState::kMoved) {
      pieces.consume(result.bytes);
      continue;
    }
    if (result.state != IoState::kWantWrite && result.state != IoState::kWantRead) co_return false;
    if (!co_await ready(result.state, now() + site_.options.limits.progress_time)) co_return false;
  }
  co_return true;
}

}  // namespace slipway::http

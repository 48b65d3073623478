#include "http/incoming_body.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway::http {
namespace {

// Large enough to make calls rare, small enough to stay in a core's cache while it is hashed.
constexpr size_t kPiece = 256 << 10;

}  // namespace

IncomingBody::IncomingBody(Channel& channel, InputBuffer& input, MessageParser& parser, Rules rules)
    : channel_(channel),
      input_(input),
      parser_(parser),
      rules_(rules),
      left_(parser.head().length.value_or(0)) {}

bool IncomingBody::ended() const {
  return parser_.head().chunked ? parser_.done() : left_ == lent_;
}

bool IncomingBody::nearly_ended() const {
  return !rules_.expects_continue && !parser_.head().chunked && left_ <= kPiece;
}

Result<std::string_view> IncomingBody::next() {
  return parser_.head().chunked ? next_of_chunks() : next_of_known_length();
}

Status IncomingBody::ask_for_it() {
  if (!rules_.expects_continue) return {};
  rules_.expects_continue = false;
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  if (channel_.write(kContinue).bytes == kContinue.size()) return {};
  return fail(ErrorCode::kUnavailable, "the peer does not take the answer '100 Continue'");
}

Result<size_t> IncomingBody::fill(std::span<char> space, bool patient) {
  const auto deadline = std::chrono::steady_clock::now() + rules_.progress_time;
  for (;;) {
    const IoResult got = channel_.read(space);
    switch (got.state) {
      case IoState::kMoved: return got.bytes;
      case IoState::kClosed:
        return fail(ErrorCode::kUnavailable, "the peer went away in the middle of the body");
      case IoState::kBroken:
        return fail(ErrorCode::kUnavailable,
                    fmt::format("the connection broke in the middle of the body: {}", channel_.failure()));
      case IoState::kWantRead:
      case IoState::kWantWrite: break;
    }
    if (!patient) return 0;
    if (wait_until(channel_, got.state, deadline) == Waited::kTimeout)
      return fail(ErrorCode::kTimeout,
                  fmt::format("no byte of the body has come for {} s", rules_.progress_time.count() / 1000));
  }
}

Result<std::string_view> IncomingBody::next_of_known_length() {
  input_.consume(lent_);
  left_ -= lent_;
  lent_ = 0;
  if (left_ == 0) return std::string_view();
  if (!input_.empty()) {
    lent_ = std::min<uint64_t>(input_.bytes().size(), left_);
    return input_.bytes().substr(0, lent_);
  }
  SLIPWAY_TRY(ask_for_it());
  piece_.resize(kPiece);
  const size_t wanted = std::min<uint64_t>(kPiece, left_);
  size_t filled = 0;
  while (filled < wanted) {
    SLIPWAY_ASSIGN(const size_t got, fill(std::span(piece_).subspan(filled, wanted - filled), filled == 0));
    if (got == 0) break;
    filled += got;
  }
  left_ -= filled;
  return std::string_view(piece_).substr(0, filled);
}

Result<std::string_view> IncomingBody::next_of_chunks() {
  piece_.clear();
  parser_.collect(&piece_, kPiece);
  while (!parser_.done() && piece_.size() < kPiece) {
    if (!input_.empty()) {
      SLIPWAY_ASSIGN(const size_t consumed, parser_.put(input_.bytes()));
      input_.consume(consumed);
      if (consumed > 0) continue;
    }
    SLIPWAY_TRY(ask_for_it());
    SLIPWAY_ASSIGN(const size_t got, fill(input_.space(kPiece / 4), piece_.empty()));
    if (got == 0) break;
    input_.commit(got);
  }
  received_ += piece_.size();
  if (received_ > rules_.limit)
    return fail(ErrorCode::kTooLarge, fmt::format("the body is larger than {} bytes", rules_.limit));
  return piece_;
}

}  // namespace slipway::http

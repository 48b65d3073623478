#include "http/connection.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

namespace slipway::http {
namespace {

constexpr size_t kHeaderLimit = 64 << 10;
constexpr size_t kReadSize = 16 << 10;
constexpr size_t kPiece = 512 << 10;

bool readable_now(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

std::unexpected<Error> broken(std::string_view why) {
  return fail(ErrorCode::kUnavailable, fmt::format("the connection to the server broke: {}", why),
              "try again");
}

}  // namespace

Connection::Connection(UniqueFd fd, TlsSession tls, Times times, int interrupt_fd)
    : fd_(std::move(fd)),
      channel_(fd_.get(), std::move(tls)),
      interrupt_fd_(interrupt_fd),
      patience_(times.answer) {}

Result<std::unique_ptr<Connection>> Connection::open(const Address& address, const TlsContext* tls,
                                                     Times times, int interrupt_fd) {
  const auto deadline = std::chrono::steady_clock::now() + times.connect;
  SLIPWAY_ASSIGN(UniqueFd fd, connect_to(address, deadline, interrupt_fd));
  TlsSession session = tls != nullptr ? tls->connect(fd.get(), address.host) : TlsSession();
  std::unique_ptr<Connection> made(new Connection(std::move(fd), std::move(session), times, interrupt_fd));
  if (tls != nullptr) SLIPWAY_TRY(made->handshake(address, deadline));
  return made;
}

Status Connection::handshake(const Address& address, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    const IoState state = channel_.handshake().state;
    if (state == IoState::kMoved) return {};
    if (state == IoState::kBroken || state == IoState::kClosed)
      return fail(ErrorCode::kUnreachable,
                  fmt::format("no TLS connection to {}: {}", address.authority, channel_.failure()),
                  "check the address, and the certificate that the client is to trust");
    const Waited waited = wait_until(channel_, state, deadline, interrupt_fd_);
    if (waited == Waited::kInterrupted) return fail(ErrorCode::kUnavailable, "the call was interrupted");
    if (waited == Waited::kTimeout)
      return fail(ErrorCode::kUnreachable,
                  fmt::format("{} did not answer the TLS handshake in time", address.authority),
                  "check the address");
  }
}

// A readable socket is not enough: TLS has messages of its own.
bool Connection::answer_waiting() {
  if (!readable_now(fd_.get())) return false;
  const IoResult result = channel_.read(input_.space(kReadSize));
  input_.commit(result.bytes);
  if (result.bytes > 0) answer_begun_ = true;
  return result.state != IoState::kWantRead && result.state != IoState::kWantWrite;
}

Status Connection::wait_for(IoState want, bool or_readable) {
  const auto deadline = std::chrono::steady_clock::now() + patience_;
  switch (wait_until(channel_, want, deadline, interrupt_fd_, or_readable)) {
    case Waited::kReady: return {};
    case Waited::kInterrupted: return fail(ErrorCode::kUnavailable, "the call was interrupted");
    case Waited::kTimeout: break;
  }
  return fail(ErrorCode::kTimeout,
              fmt::format("the server has not answered for {:.1f} s",
                          std::chrono::duration<double>(patience_).count()),
              "try again; `slipway status` shows whether the server is well");
}

// False: an answer is there already, and the rest is not wanted.
Result<bool> Connection::write_all(std::string_view bytes, bool more) {
  while (!bytes.empty()) {
    const IoResult result = channel_.write(bytes, more);
    if (result.state == IoState::kMoved) {
      bytes.remove_prefix(result.bytes);
      continue;
    }
    // A server that refuses a body answers and closes: the answer may still be readable behind the failed
    // write.
    if (answer_waiting()) return false;
    if (result.state == IoState::kBroken || result.state == IoState::kClosed)
      return broken(channel_.failure());
    SLIPWAY_TRY(wait_for(result.state, true));
  }
  return true;
}

Status Connection::send(std::string_view head, const Call& call) {
  reusable_ = false;
  answer_begun_ = false;
  sent_all_ = false;
  if (!call.source) {
    if (call.body.size() <= kReadSize) {
      SLIPWAY_ASSIGN(sent_all_, write_all(std::string(head) + call.body, false));
      return {};
    }
    SLIPWAY_ASSIGN(sent_all_, write_all(head, true));
    if (sent_all_) {
      SLIPWAY_ASSIGN(sent_all_, write_all(call.body, false));
    }
    return {};
  }
  SLIPWAY_ASSIGN(bool wanted, write_all(head, call.source_length > 0));
  uint64_t left = call.source_length;
  while (wanted && left > 0) {
    SLIPWAY_ASSIGN(const std::string_view piece, call.source());
    if (piece.empty() || piece.size() > left)
      return fail(ErrorCode::kInternal, "the body to be sent has another length than was announced");
    left -= piece.size();
    SLIPWAY_ASSIGN(wanted, write_all(piece, left > 0));
    if (left > 0 && answer_waiting()) wanted = false;
  }
  sent_all_ = wanted;
  return {};
}

Result<size_t> Connection::read_some(std::span<char> space) {
  for (;;) {
    const IoResult result = channel_.read(space);
    if (result.state == IoState::kMoved) {
      answer_begun_ = true;
      return result.bytes;
    }
    if (result.state == IoState::kClosed) return 0;
    if (result.state == IoState::kBroken) return broken(channel_.failure());
    SLIPWAY_TRY(wait_for(result.state));
  }
}

Status Connection::read_head(bool of_head_request) {
  using Kind = MessageParser::Kind;
  // The answer is hardly ever there yet: waiting first saves a read.
  if (!channel_.secure() && input_.empty()) SLIPWAY_TRY(wait_for(IoState::kWantRead));
  do {
    parser_.emplace(of_head_request ? Kind::kHeadResponse : Kind::kResponse, kHeaderLimit);
    while (!parser_->head_done()) {
      size_t consumed = 0;
      if (!input_.empty()) {
        const auto put = parser_->put(input_.bytes());
        if (!put) return broken(put.error().message);
        consumed = *put;
        input_.consume(consumed);
      }
      if (parser_->head_done() || consumed > 0) continue;
      SLIPWAY_ASSIGN(const size_t got, read_some(input_.space(kReadSize)));
      if (got == 0) return broken("it was closed before the answer");
      input_.commit(got);
    }
  } while (head().status / 100 == 1);
  left_ = parser_->done() ? 0 : head().length.value_or(0);
  lent_ = 0;
  return {};
}

Result<std::string_view> Connection::next_piece() {
  return head().length && !parser_->done() ? next_of_known_length() : next_of_others();
}

std::string_view Connection::end_of_answer() {
  reusable_ = head().keep_alive && sent_all_ && !head().until_eof && input_.empty();
  return {};
}

// Read past the parser, which would copy.
Result<std::string_view> Connection::next_of_known_length() {
  input_.consume(lent_);
  left_ -= lent_;
  lent_ = 0;
  if (left_ == 0) return end_of_answer();
  if (!input_.empty()) {
    lent_ = std::min<uint64_t>(input_.bytes().size(), left_);
    return input_.bytes().substr(0, lent_);
  }
  piece_.resize(std::min<uint64_t>(kPiece, std::max<uint64_t>(left_, piece_.size())));
  const size_t wanted = std::min<uint64_t>(piece_.size(), left_);
  SLIPWAY_ASSIGN(const size_t got, read_some(std::span(piece_).first(wanted)));
  if (got == 0) return broken("it was closed in the middle of the answer");
  left_ -= got;
  return std::string_view(piece_).substr(0, got);
}

Result<std::string_view> Connection::next_of_others() {
  piece_.clear();
  parser_->collect(&piece_, kPiece);
  while (!parser_->done() && piece_.size() < kPiece) {
    if (!input_.empty()) {
      const auto put = parser_->put(input_.bytes());
      if (!put) return broken(put.error().message);
      input_.consume(*put);
      if (*put > 0) continue;
    }
    if (!piece_.empty()) return piece_;
    SLIPWAY_ASSIGN(const size_t got, read_some(input_.space(kReadSize * 4)));
    if (got == 0) {
      if (!parser_->put_end()) return broken("it was closed in the middle of the answer");
      break;
    }
    input_.commit(got);
  }
  if (piece_.empty()) return end_of_answer();
  return piece_;
}

}  // namespace slipway::http

#include "http/channel.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace slipway::http {
namespace {

constexpr size_t kTlsFilePiece = 256 << 10;

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

// sendfile has no MSG_NOSIGNAL: the signal is blocked for the call and one that came of it is taken away, so
// that neither this process nor a mask that a child inherits is changed.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const int saved = errno;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = saved;
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

  void take_pending() {
    const int saved = errno;
    const timespec now{};
    if (::sigismember(&before_, SIGPIPE) == 0) ::sigtimedwait(&pipe_, nullptr, &now);
    errno = saved;
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace

void FreeTlsSession::operator()(ssl_st* session) const {
  ::SSL_free(session);
}

Channel::Channel(int fd, TlsSession tls) : fd_(fd), tls_(std::move(tls)) {}

bool Channel::has_buffered() const {
  return secure() && ::SSL_has_pending(tls_.get()) == 1;
}

IoResult Channel::errno_outcome(IoState want) {
  if (would_block(errno)) return {want};
  errno_ = errno;
  return {IoState::kBroken};
}

IoResult Channel::tls_outcome(int returned) {
  if (returned > 0) return {IoState::kMoved, static_cast<size_t>(returned)};
  const int saved = errno;
  switch (::SSL_get_error(tls_.get(), returned)) {
    case SSL_ERROR_WANT_READ: return {IoState::kWantRead};
    case SSL_ERROR_WANT_WRITE: return {IoState::kWantWrite};
    case SSL_ERROR_ZERO_RETURN: return {IoState::kClosed};
    case SSL_ERROR_SYSCALL: errno_ = saved != 0 ? saved : ECONNRESET; break;
    default: {
      std::array<char, 256> text{};
      ::ERR_error_string_n(::ERR_peek_error(), text.data(), text.size());
      const long verdict = ::SSL_get_verify_result(tls_.get());
      tls_failure_ =
          verdict == X509_V_OK ? std::string(text.data()) : ::X509_verify_cert_error_string(verdict);
    }
  }
  ::ERR_clear_error();
  return {IoState::kBroken};
}

IoResult Channel::handshake() {
  errno = 0;
  return tls_outcome(::SSL_do_handshake(tls_.get()));
}

IoResult Channel::read(std::span<char> into) {
  if (secure()) {
    errno = 0;
    return tls_outcome(
        ::SSL_read(tls_.get(), into.data(), static_cast<int>(std::min<size_t>(into.size(), 1 << 30))));
  }
  ssize_t got = 0;
  do {
    got = ::recv(fd_, into.data(), into.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got > 0) return {IoState::kMoved, static_cast<size_t>(got)};
  if (got == 0) return {IoState::kClosed};
  return errno_outcome(IoState::kWantRead);
}

IoResult Channel::write(std::string_view bytes, bool more) {
  if (secure()) {
    errno = 0;
    return tls_outcome(
        ::SSL_write(tls_.get(), bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), 1 << 30))));
  }
  ssize_t sent = 0;
  do {
    sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | (more ? MSG_MORE : 0));
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return {IoState::kMoved, static_cast<size_t>(sent)};
  return errno_outcome(IoState::kWantWrite);
}

IoResult Channel::write(const Pieces& pieces, bool more) {
  if (secure() || pieces.first.empty() || pieces.second.empty())
    return write(pieces.first.empty() ? pieces.second : pieces.first, more);
  // sendmsg takes no const here and does not write.
  std::array<iovec, 2> parts{{{const_cast<char*>(pieces.first.data()), pieces.first.size()},
                              {const_cast<char*>(pieces.second.data()), pieces.second.size()}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return {IoState::kMoved, static_cast<size_t>(sent)};
  return errno_outcome(IoState::kWantWrite);
}

IoResult Channel::send_file(int file, uint64_t offset, size_t length) {
  if (secure()) {
    const auto piece = std::make_unique_for_overwrite<char[]>(kTlsFilePiece);
    ssize_t got = 0;
    do {
      got = ::pread(file, piece.get(), std::min(length, kTlsFilePiece), static_cast<off_t>(offset));
    } while (got < 0 && errno == EINTR);
    if (got == 0) return {IoState::kClosed};
    if (got < 0) {
      errno_ = errno;
      return {IoState::kBroken};
    }
    return write({piece.get(), static_cast<size_t>(got)});
  }
  WithoutSigpipe guard;
  auto position = static_cast<off_t>(offset);
  ssize_t sent = 0;
  do {
    sent = ::sendfile(fd_, file, &position, length);
  } while (sent < 0 && errno == EINTR);
  if (sent > 0) return {IoState::kMoved, static_cast<size_t>(sent)};
  if (sent == 0) return {IoState::kClosed};
  if (errno == EPIPE) guard.take_pending();
  return errno_outcome(IoState::kWantWrite);
}

void Channel::end() {
  if (!secure()) return;
  ::SSL_shutdown(tls_.get());
  ::ERR_clear_error();
}

std::string Channel::failure() const {
  if (!tls_failure_.empty()) return tls_failure_;
  return std::strerror(errno_);
}

Waited wait_until(const Channel& channel, IoState want, std::chrono::steady_clock::time_point deadline,
                  int interrupt_fd, bool or_readable) {
  std::array<pollfd, 2> watched{};
  const int events = (want == IoState::kWantWrite ? POLLOUT : POLLIN) | (or_readable ? POLLIN : 0);
  watched[0] = {channel.fd(), static_cast<short>(events), 0};
  watched[1] = {interrupt_fd, POLLIN, 0};
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Waited::kTimeout;
    const auto timeout = static_cast<int>(std::min<int64_t>(left.count(), 1 << 30));
    const int ready = ::poll(watched.data(), interrupt_fd >= 0 ? 2 : 1, timeout);
    if (ready < 0 && errno != EINTR)
      return Waited::kReady;  // the next call on the channel tells what is wrong
    if (ready <= 0) continue;
    return watched[1].revents != 0 ? Waited::kInterrupted : Waited::kReady;
  }
}

}  // namespace slipway::http

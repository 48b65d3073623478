#include "serving/runtimes/worker_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace slipway::serving {
namespace {

// A worker that announces more than this has lost its way.
constexpr uint32_t kMaxHeader = 16 << 20;
constexpr uint64_t kMaxRest = 1ULL << 30;
constexpr size_t kHeadSize = sizeof(uint32_t) + sizeof(uint64_t);

std::unexpected<Error> gone() {
  return fail(ErrorCode::kUnavailable, "the model's process is gone", "try again in a second");
}

}  // namespace

Status WorkerLink::wait(short events, Monotonic deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{.fd = socket_.get(), .events = events, .revents = 0};
    const auto patience = std::min<int64_t>(left.count(), 60'000);
    const int count = left.count() <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(patience));
    if (count > 0) return {};
    if (count < 0 && errno != EINTR) return gone();
    if (std::chrono::steady_clock::now() >= deadline)
      return fail(ErrorCode::kTimeout, "the model did not answer in time",
                  "send less at once, or raise --timeout");
  }
}

bool WorkerLink::readable(std::chrono::milliseconds patience) const {
  pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, static_cast<int>(patience.count())) > 0;
}

Status WorkerLink::write_all(std::string_view bytes, Monotonic deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      SLIPWAY_TRY(wait(POLLOUT, deadline));
    } else if (errno != EINTR) {
      return gone();
    }
  }
  return {};
}

Status WorkerLink::read_all(std::span<char> into, Monotonic deadline) {
  while (!into.empty()) {
    const ssize_t got = ::recv(socket_.get(), into.data(), into.size(), MSG_DONTWAIT);
    if (got > 0) {
      into = into.subspan(static_cast<size_t>(got));
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      SLIPWAY_TRY(wait(POLLIN, deadline));
    } else if (got == 0 || errno != EINTR) {
      return gone();
    }
  }
  return {};
}

Status WorkerLink::send(const json::object& header, std::span<const std::string_view> parts,
                        Monotonic deadline) {
  const std::string text = json::serialize(header);
  uint64_t rest = 0;
  for (const std::string_view part : parts) rest += part.size();
  const auto length = static_cast<uint32_t>(text.size());
  std::string head(kHeadSize, '\0');
  std::memcpy(head.data(), &length, sizeof length);
  std::memcpy(head.data() + sizeof length, &rest, sizeof rest);
  SLIPWAY_TRY(write_all(head + text, deadline));
  for (const std::string_view part : parts) SLIPWAY_TRY(write_all(part, deadline));
  return {};
}

Result<Frame> WorkerLink::receive(Monotonic deadline) {
  char head[kHeadSize];
  SLIPWAY_TRY(read_all(head, deadline));
  uint32_t length = 0;
  uint64_t rest = 0;
  std::memcpy(&length, head, sizeof length);
  std::memcpy(&rest, head + sizeof length, sizeof rest);
  if (length > kMaxHeader || rest > kMaxRest) return gone();
  std::string text(length, '\0');
  SLIPWAY_TRY(read_all(text, deadline));
  Frame frame;
  frame.rest.resize(rest);
  SLIPWAY_TRY(read_all(frame.rest, deadline));
  auto header = parse_json_object(text, "a worker's answer");
  if (!header) return gone();
  frame.header = std::move(*header);
  return frame;
}

}  // namespace slipway::serving

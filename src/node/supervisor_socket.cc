#include "node/supervisor_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/json.h"

namespace slipway::node {
namespace {

constexpr size_t kBatch = 32;
constexpr int kMaxBatches = 16;
constexpr size_t kMaxPoints = 4096;  // gathered into one record
constexpr std::string_view kStream = "(in-job messages)";

}  // namespace

Result<InJobSocket> InJobSocket::open(const std::string& path, JournalFeed& feed) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the path of the in-job socket is too long: {}", path));
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail(errno_error(errno, "make the in-job socket"));
  ::unlink(path.c_str());
  const mode_t old = ::umask(0177);
  const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(old);
  if (bound != 0) return fail(errno_error(error, fmt::format("bind the in-job socket {}", path)));
  return InJobSocket(path, std::move(fd), feed);
}

InJobSocket::~InJobSocket() {
  if (fd_) ::unlink(path_.c_str());
}

// The kernel queues only a handful of datagrams for a receiver (net.unix.max_dgram_qlen) whatever its buffer;
// senders wait for more. So the queue is emptied in one call, and a busy one is looked at again before going
// to sleep.
bool InJobSocket::receive(Timestamp now) {
  char nothing = 0;
  if (::recv(fd_.get(), &nothing, 0, MSG_PEEK | MSG_DONTWAIT) < 0) return false;
  if (!buffers_) buffers_ = std::make_unique_for_overwrite<char[]>(kBatch * injob::kMaxMessage);
  std::array<mmsghdr, kBatch> headers{};
  std::array<iovec, kBatch> parts{};
  for (size_t i = 0; i < kBatch; ++i) {
    parts[i] = {buffers_.get() + i * injob::kMaxMessage, injob::kMaxMessage};
    headers[i].msg_hdr.msg_iov = &parts[i];
    headers[i].msg_hdr.msg_iovlen = 1;
  }
  bool more = true;
  for (int batch = 0; batch < kMaxBatches && more; ++batch) {
    const int count = ::recvmmsg(fd_.get(), headers.data(), kBatch, MSG_DONTWAIT, nullptr);
    // Fewer than asked for: the queue was empty.
    more = count == static_cast<int>(kBatch);
    for (int i = 0; i < count; ++i) {
      const mmsghdr& header = headers[static_cast<size_t>(i)];
      const bool cut = (header.msg_hdr.msg_flags & MSG_TRUNC) != 0;
      take(cut ? std::string_view()
               : std::string_view(buffers_.get() + static_cast<size_t>(i) * injob::kMaxMessage,
                                  header.msg_len),
           now);
    }
  }
  write_gathered();
  return more;
}

void InJobSocket::take(std::string_view text, Timestamp now) {
  if (const Status parsed = injob::parse_message(text, now, gathered_); !parsed) {
    if (refused_++ == 0)
      feed_->record(journal::Kind::kMark, json::serialize(json::object{
                                              {"stream", kStream},
                                              {"dropped_bytes", text.size()},
                                              {"why", "a message was refused: " + parsed.error().message}}));
    return;
  }
  if (gathered_.points.size() >= kMaxPoints || gathered_.file || !gathered_.tags.empty()) write_gathered();
}

void InJobSocket::write_gathered() {
  if (!gathered_.points.empty())
    feed_->record(journal::Kind::kMetrics, journal::encode_metrics(gathered_.points));
  gathered_.points.clear();
  if (!gathered_.tags.empty()) feed_->record(journal::Kind::kTags, json::serialize(to_json(gathered_.tags)));
  gathered_.tags.clear();
  if (const auto& file = gathered_.file) {
    json::object object{{"path", file->path}};
    if (!file->image.empty())
      object.emplace("image", json::object{{"name", file->image}, {"step", file->step}});
    feed_->record(journal::Kind::kFile, json::serialize(object));
  }
  gathered_.file.reset();
}

void InJobSocket::finish() {
  if (refused_ < 2) return;
  feed_->record(
      journal::Kind::kMark,
      json::serialize(json::object{{"stream", kStream},
                                   {"dropped_bytes", 0},
                                   {"why", fmt::format("{} messages in all were refused", refused_)}}));
}

}  // namespace slipway::node

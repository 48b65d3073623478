#include "node/supervisor_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/json.h"

namespace slipway::node {
namespace {

constexpr size_t kBatch = 32;
constexpr int kMaxBatches = 16;
constexpr size_t kMaxPoints = 4096;         // gathered into one record
constexpr size_t kMaxValueBytes = 1 << 20;  // likewise; one value alone may have more
constexpr std::string_view kStream = "(in-job messages)";

}  // namespace

Result<InJobSocket> InJobSocket::open(const std::string& path, const std::string& work, JournalFeed& feed) {
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
  return InJobSocket(path, work, std::move(fd), feed);
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

void InJobSocket::refuse(size_t bytes, const Error& error) {
  if (refused_++ > 0) return;
  feed_->record(journal::Kind::kMark,
                json::serialize(json::object{{"stream", kStream},
                                             {"dropped_bytes", bytes},
                                             {"why", "a message was refused: " + error.message}}));
}

void InJobSocket::take(std::string_view text, Timestamp now) {
  if (const Status parsed = injob::parse_message(text, now, gathered_); !parsed)
    return refuse(text.size(), parsed.error());
  if (const auto path = std::exchange(gathered_.values_file, std::nullopt))
    if (const Status taken = take_values_file(*path, now); !taken) return refuse(text.size(), taken.error());
  const bool only_points =
      gathered_.entries.empty() && !gathered_.file && gathered_.tags.empty() && gathered_.properties.empty();
  if (!only_points || gathered_.points.size() >= kMaxPoints) write_gathered();
}

// The file was made for this message alone, so it is gone afterwards, readable or not.
Status InJobSocket::take_values_file(const std::string& path, Timestamp now) {
  const UniqueFd work(::open(work_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!work) return fail(errno_error(errno, "open the working folder"));
  SLIPWAY_ASSIGN(const UniqueFd file, open_beneath(work.get(), path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return fail(ErrorCode::kInvalidArgument, "a values file is no plain file");
  ::unlinkat(work.get(), path.c_str(), 0);
  if (static_cast<uint64_t>(info.st_size) > injob::kMaxValuesFile)
    return fail(ErrorCode::kTooLarge,
                fmt::format("a values file has at most {} MiB", injob::kMaxValuesFile >> 20));
  std::string text(static_cast<size_t>(info.st_size), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  if (got < 0) return fail(errno_error(errno, "read a values file"));
  text.resize(static_cast<size_t>(got));
  SLIPWAY_ASSIGN(gathered_.entries, injob::parse_values_file(text, now));
  return {};
}

void InJobSocket::write_gathered() {
  if (!gathered_.points.empty())
    feed_->record(journal::Kind::kMetrics, journal::encode_metrics(gathered_.points));
  gathered_.points.clear();
  write_entries();
  write_pairs();
  if (const auto& file = gathered_.file) {
    feed_->record(journal::Kind::kFile, json::serialize(json::object{{"path", file->path}}));
    if (!file->image.empty())
      feed_->record(
          journal::Kind::kValues,
          journal::encode_values({{.name = file->image,
                                   .kind = journal::ValueKind::kImage,
                                   .step = file->step,
                                   .time = file->time,
                                   .document = json::serialize(json::object{{"path", file->path}})}}));
  }
  gathered_.file.reset();
}

// Numbers and other values go into records of their own, which stand in the order of logging.
void InJobSocket::write_entries() {
  std::vector<journal::MetricPoint> points;
  std::vector<journal::LoggedValue> values;
  size_t bytes = 0;
  const auto write = [&] {
    if (!points.empty()) feed_->record(journal::Kind::kMetrics, journal::encode_metrics(points));
    if (!values.empty()) feed_->record(journal::Kind::kValues, journal::encode_values(values));
    points.clear();
    values.clear();
    bytes = 0;
  };
  for (journal::Entry& entry : gathered_.entries) {
    auto* point = std::get_if<journal::MetricPoint>(&entry);
    const bool other_kind = point != nullptr ? !values.empty() : !points.empty();
    if (other_kind || points.size() >= kMaxPoints || bytes >= kMaxValueBytes) write();
    if (point != nullptr) {
      points.push_back(std::move(*point));
    } else {
      values.push_back(std::move(std::get<journal::LoggedValue>(entry)));
      bytes += values.back().name.size() + values.back().document.size();
    }
  }
  write();
  gathered_.entries.clear();
}

void InJobSocket::write_pairs() {
  if (!gathered_.tags.empty()) feed_->record(journal::Kind::kTags, json::serialize(to_json(gathered_.tags)));
  gathered_.tags.clear();
  if (!gathered_.properties.empty())
    feed_->record(journal::Kind::kProperties, json::serialize(to_json(gathered_.properties)));
  gathered_.properties.clear();
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

#include "runs/log_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <optional>

#include "base/failpoint.h"
#include "base/file.h"
#include "http/router.h"

namespace slipway::runs {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kIndexSuffix = ".@index";  // '@' cannot occur in an encoded name
constexpr size_t kLongestFileName = 200;

struct IndexEntry {
  uint64_t offset;
  uint64_t channel;
};
static_assert(sizeof(IndexEntry) == 16);

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.';
}

Result<uint64_t> size_of(int fd) {
  struct stat facts{};
  if (::fstat(fd, &facts) != 0) return fail(errno_error(errno, "look at a log"));
  return static_cast<uint64_t>(facts.st_size);
}

Status write_all_at(int fd, std::string_view bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno_error(errno, "write a log"));
    bytes.remove_prefix(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return {};
}

// One log that is being appended to.
class OpenLog {
 public:
  static Result<OpenLog> open(const fs::path& path) {
    OpenLog log;
    log.fd_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    log.index_fd_ = UniqueFd(
        ::open((path.string() + std::string(kIndexSuffix)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!log.fd_ || !log.index_fd_)
      return fail(errno_error(errno, fmt::format("open the log {}", path.string())));
    SLIPWAY_ASSIGN(log.size_, size_of(log.fd_.get()));
    SLIPWAY_TRY(log.read_last_channel());
    return log;
  }

  Status append(const journal::LogChunk& chunk) {
    if (chunk.offset > size_)
      return fail(Error{
          .code = ErrorCode::kInternal,
          .message = "bytes of a log are missing",
          .next = "",
          .detail = fmt::format("{} holds {} bytes, the next begin at {}", chunk.name, size_, chunk.offset)});
    const uint64_t known = size_ - chunk.offset;
    if (known >= chunk.bytes.size()) return {};  // repeated
    const std::string_view fresh = chunk.bytes.substr(known);
    // The index first: an entry without bytes is completed by the repetition, bytes without their entry would
    // not be.
    if (last_channel_ != chunk.channel) SLIPWAY_TRY(append_index(chunk.channel));
    SLIPWAY_FAILPOINT("log.before_bytes");
    // At the known end, so that a repetition that races with the first try writes the same bytes to the same
    // place.
    SLIPWAY_TRY(write_all_at(fd_.get(), fresh, size_));
    size_ += fresh.size();
    return {};
  }

  Status sync() {
    if (::fdatasync(fd_.get()) != 0 || (index_changed_ && ::fdatasync(index_fd_.get()) != 0))
      return fail(errno_error(errno, "sync a log"));
    return {};
  }

 private:
  Status read_last_channel() {
    SLIPWAY_ASSIGN(uint64_t bytes, size_of(index_fd_.get()));
    index_size_ = bytes - bytes % sizeof(IndexEntry);  // a torn entry is overwritten
    if (index_size_ == 0) return {};
    IndexEntry entry{};
    const auto at = static_cast<off_t>(index_size_ - sizeof entry);
    if (::pread(index_fd_.get(), &entry, sizeof entry, at) != ssize_t{sizeof entry})
      return fail(errno_error(errno, "read a log's index"));
    last_channel_ = static_cast<journal::Channel>(entry.channel);
    return {};
  }

  Status append_index(journal::Channel channel) {
    const IndexEntry entry{.offset = size_, .channel = static_cast<uint64_t>(channel)};
    if (::pwrite(index_fd_.get(), &entry, sizeof entry, static_cast<off_t>(index_size_)) !=
        ssize_t{sizeof entry})
      return fail(errno_error(errno, "write a log's index"));
    index_size_ += sizeof entry;
    last_channel_ = channel;
    index_changed_ = true;
    return {};
  }

  UniqueFd fd_;
  UniqueFd index_fd_;
  uint64_t size_ = 0;
  uint64_t index_size_ = 0;
  std::optional<journal::Channel> last_channel_;
  bool index_changed_ = false;
};

Result<int> number_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size())
    return fail(ErrorCode::kInternal, "an odd folder of logs");
  return number;
}

}  // namespace

std::string encode_log_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (is_plain(c) && (c != '.' || !text.empty())) {
      text += c;
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

Result<std::string> decode_log_name(std::string_view file_name) {
  return http::percent_decode(file_name, false);
}

fs::path LogStore::folder_of(const AttemptKey& attempt) const {
  return folder_ / attempt.run.str() / std::to_string(attempt.attempt) / std::to_string(attempt.rank);
}

Status LogStore::append(const AttemptKey& attempt, const std::vector<journal::LogChunk>& chunks) {
  std::map<std::string, OpenLog> logs;
  for (const journal::LogChunk& chunk : chunks) {
    auto found = logs.find(chunk.name);
    if (found == logs.end()) {
      const std::string file_name = encode_log_name(chunk.name);
      if (file_name.empty() || file_name.size() > kLongestFileName)
        continue;  // refused by the supervisor already
      if (logs.empty()) SLIPWAY_TRY(make_folders(folder_of(attempt)));
      SLIPWAY_ASSIGN(auto log, OpenLog::open(folder_of(attempt) / file_name));
      found = logs.emplace(chunk.name, std::move(log)).first;
    }
    SLIPWAY_TRY(found->second.append(chunk));
  }
  for (auto& [name, log] : logs) SLIPWAY_TRY(log.sync());
  return {};
}

Result<std::vector<LogInfo>> LogStore::list(const RunId& run) const {
  std::vector<LogInfo> logs;
  std::error_code error;
  for (const auto& attempt : fs::directory_iterator(folder_ / run.str(), error)) {
    for (const auto& rank : fs::directory_iterator(attempt.path(), error)) {
      for (const auto& file : fs::directory_iterator(rank.path(), error)) {
        const std::string file_name = file.path().filename().string();
        if (file_name.ends_with(kIndexSuffix)) continue;
        LogInfo info;
        SLIPWAY_ASSIGN(info.name, decode_log_name(file_name));
        SLIPWAY_ASSIGN(info.attempt, number_of(attempt.path()));
        SLIPWAY_ASSIGN(info.rank, number_of(rank.path()));
        info.size = file.file_size(error);
        logs.push_back(std::move(info));
      }
    }
  }
  std::sort(logs.begin(), logs.end(), [](const LogInfo& a, const LogInfo& b) {
    return std::tie(a.attempt, a.rank, a.name) < std::tie(b.attempt, b.rank, b.name);
  });
  return logs;
}

Result<UniqueFd> LogStore::open(const AttemptKey& attempt, const std::string& name, uint64_t* size) const {
  const fs::path path = folder_of(attempt) / encode_log_name(name);
  UniqueFd fd(name.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return fail(ErrorCode::kNotFound,
                fmt::format("{} has no log '{}'", to_text(attempt), name.substr(0, 64)));
  SLIPWAY_ASSIGN(*size, size_of(fd.get()));
  return fd;
}

Result<std::vector<LogStretch>> LogStore::stretches(const AttemptKey& attempt, const std::string& name,
                                                    uint64_t offset, uint64_t length) const {
  std::vector<LogStretch> stretches;
  const fs::path path = folder_of(attempt) / (encode_log_name(name) + std::string(kIndexSuffix));
  SLIPWAY_ASSIGN(const std::string index, read_file(path));
  const uint64_t end = offset + length;
  const size_t count = index.size() / sizeof(IndexEntry);
  const auto entry_at = [&](size_t i) {
    IndexEntry entry{};
    index.copy(reinterpret_cast<char*>(&entry), sizeof entry, i * sizeof entry);
    return entry;
  };
  for (size_t i = 0; i < count; ++i) {
    const IndexEntry entry = entry_at(i);
    const uint64_t next = i + 1 < count ? entry_at(i + 1).offset : end;
    const uint64_t from = std::max(entry.offset, offset);
    const uint64_t to = std::min(next, end);
    if (from >= to) continue;
    stretches.push_back(
        {.offset = from, .length = to - from, .channel = static_cast<journal::Channel>(entry.channel)});
  }
  return stretches;
}

std::vector<RunId> LogStore::runs() const {
  std::vector<RunId> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error))
    found.emplace_back(entry.path().filename().string());
  return found;
}

Status LogStore::remove(const RunId& run) {
  std::error_code error;
  fs::remove_all(folder_ / run.str(), error);
  if (error) return fail(errno_error(error.value(), fmt::format("remove the logs of {}", run)));
  return {};
}

}  // namespace slipway::runs

#include "node/agent_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/random.h"

namespace slipway::node {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxRemembered = 200'000;
constexpr const char* kAside = "aside";
constexpr auto kStaleAside = std::chrono::hours(24);
// A use within this time is not written down: reading must not cost a write.
constexpr auto kUseGrain = std::chrono::seconds(60);

struct CachedFile {
  fs::path path;
  uint64_t size = 0;
  int64_t used = 0;  // nanoseconds since 1970
};

Result<Digest> hash_of(int fd) {
  Hasher hasher;
  std::string buffer(1 << 20, '\0');
  off_t at = 0;
  while (true) {
    const ssize_t count = ::pread(fd, buffer.data(), buffer.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno_error(errno, "read the cache"));
    if (count == 0) return hasher.finish();
    hasher.update(std::string_view(buffer).substr(0, static_cast<size_t>(count)));
    at += count;
  }
}

void mark_used(int fd, const struct stat& status) {
  const auto age =
      std::chrono::system_clock::now().time_since_epoch() - std::chrono::seconds(status.st_mtim.tv_sec);
  if (age > kUseGrain) ::futimens(fd, nullptr);
}

std::vector<CachedFile> list_files(const fs::path& folder) {
  std::vector<CachedFile> files;
  std::error_code error;
  for (const fs::directory_entry& shelf : fs::directory_iterator(folder, error)) {
    if (shelf.path().filename() == kAside) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(shelf.path(), error)) {
      struct stat status{};
      if (::lstat(entry.path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
      files.push_back({entry.path(), static_cast<uint64_t>(status.st_size),
                       int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec});
    }
  }
  return files;
}

void remove_stale_asides(const fs::path& folder) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / kAside, error)) {
    const auto written = entry.last_write_time(error);
    if (!error && now - written > kStaleAside) fs::remove(entry.path(), error);
  }
}

}  // namespace

Result<std::unique_ptr<BlobCache>> BlobCache::open(fs::path folder, uint64_t max_bytes) {
  SLIPWAY_TRY(make_folders(folder / kAside));
  return std::unique_ptr<BlobCache>(new BlobCache(std::move(folder), max_bytes));
}

fs::path BlobCache::path_of(const Digest& digest) const {
  const std::string hex = digest.hex();
  return folder_ / hex.substr(0, 2) / hex.substr(2);
}

bool BlobCache::holds(const Digest& digest, uint64_t size) const {
  struct stat status{};
  return ::lstat(path_of(digest).c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         static_cast<uint64_t>(status.st_size) == size;
}

Result<UniqueFd> BlobCache::open_blob(const Digest& digest, uint64_t size) {
  const fs::path path = path_of(digest);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0)
    return fail(ErrorCode::kNotFound, fmt::format("the cache has no {}", digest.hex()));
  Status good;
  if (static_cast<uint64_t>(status.st_size) != size) {
    good = fail(ErrorCode::kNotFound, fmt::format("{} in the cache has a wrong size", digest.hex()));
  } else {
    good = check_once(digest, fd.get());
  }
  if (!good) {
    log_warning("agent.cache_damaged", {{"digest", digest.hex()}, {"error", good.error()}});
    ::unlink(path.c_str());
    return fail(std::move(good).error());
  }
  mark_used(fd.get(), status);
  return fd;
}

Result<std::string> BlobCache::read(const Digest& digest, size_t limit) {
  SLIPWAY_ASSIGN(std::string content, read_file(path_of(digest), limit));
  if (Digest::of(content) != digest) {
    ::unlink(path_of(digest).c_str());
    return fail(ErrorCode::kNotFound, fmt::format("{} in the cache holds other bytes", digest.hex()));
  }
  return content;
}

Status BlobCache::check_once(const Digest& digest, int fd) {
  {
    const std::lock_guard lock(mutex_);
    if (checked_.contains(digest)) return {};
  }
  SLIPWAY_ASSIGN(const Digest actual, hash_of(fd));
  if (actual != digest)
    return fail(ErrorCode::kNotFound, fmt::format("{} in the cache holds other bytes", digest.hex()));
  remember(digest);
  return {};
}

void BlobCache::remember(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  if (checked_.size() >= kMaxRemembered) checked_.clear();
  checked_.insert(digest);
}

Result<std::unique_ptr<BlobCache::Writer>> BlobCache::begin(const Digest& digest) {
  std::unique_ptr<Writer> writer(new Writer(*this, digest));
  writer->aside_ = folder_ / kAside / random_base32(20);
  writer->fd_ = UniqueFd(::open(writer->aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!writer->fd_) return fail(errno_error(errno, fmt::format("create {}", writer->aside_.string())));
  return writer;
}

Status BlobCache::put(const Digest& digest, std::string_view content) {
  SLIPWAY_ASSIGN(const std::unique_ptr<Writer> writer, begin(digest));
  SLIPWAY_TRY(writer->append(content));
  return writer->finish();
}

BlobCache::Writer::~Writer() {
  if (fd_) ::unlink(aside_.c_str());
}

Status BlobCache::Writer::append(std::string_view bytes) {
  hasher_.update(bytes);
  size_ += bytes.size();
  return write_all(fd_.get(), bytes);
}

Status BlobCache::Writer::finish() {
  if (hasher_.finish() != digest_)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the bytes that came for {} are others", digest_.hex()));
  const fs::path path = cache_.path_of(digest_);
  if (::rename(aside_.c_str(), path.c_str()) != 0) {
    ::mkdir(path.parent_path().c_str(), 0700);
    if (::rename(aside_.c_str(), path.c_str()) != 0)
      return fail(errno_error(errno, fmt::format("store {} in the cache", digest_.hex())));
  }
  fd_.reset();
  cache_.remember(digest_);
  const std::lock_guard lock(cache_.mutex_);
  cache_.added_since_trim_ += size_;
  return {};
}

void BlobCache::trim() {
  {
    // Looking through the cache is worth it at the start, for what earlier agents left, and then now and
    // again.
    const std::lock_guard lock(mutex_);
    if (trimmed_ && added_since_trim_ < max_bytes_ / 20) return;
    trimmed_ = true;
    added_since_trim_ = 0;
  }
  remove_stale_asides(folder_);
  std::vector<CachedFile> files = list_files(folder_);
  uint64_t total = 0;
  for (const CachedFile& file : files) total += file.size;
  if (total <= max_bytes_) return;
  std::ranges::sort(files, {}, &CachedFile::used);
  const uint64_t goal = max_bytes_ - max_bytes_ / 10;
  for (const CachedFile& file : files) {
    if (total <= goal) break;
    if (::unlink(file.path.c_str()) == 0) total -= file.size;
  }
  log_info("agent.cache_trimmed", {{"bytes", total}});
}

}  // namespace slipway::node

#include "data/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/random.h"

namespace slipway::data {
namespace fs = std::filesystem;
namespace {

constexpr const char* kAside = "aside";
constexpr auto kStaleAside = std::chrono::hours(24);
// How often one writer meets a full disk before it gives up: a quota may be what is full, and not the disk.
constexpr int kMostRooms = 16;
// A use within this time is not written down: reading must not cost a write.
constexpr auto kUseGrain = std::chrono::seconds(60);

struct FoundFile {
  fs::path path;
  uint64_t size = 0;
  int64_t used = 0;  // nanoseconds since 1970
};

void mark_used(int fd, const struct stat& status) {
  const auto age =
      std::chrono::system_clock::now().time_since_epoch() - std::chrono::seconds(status.st_mtim.tv_sec);
  if (age > kUseGrain) ::futimens(fd, nullptr);
}

void add_found(const fs::path& path, std::vector<FoundFile>& files) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  // What it takes on disk: a partial file is as large as the whole one, with holes.
  files.push_back({path,
                   std::min<uint64_t>(static_cast<uint64_t>(status.st_size),
                                      static_cast<uint64_t>(status.st_blocks) * 512),
                   int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec});
}

// Everything that takes room but what is being written or fetched at present.
std::vector<FoundFile> list_files(const fs::path& folder) {
  std::vector<FoundFile> files;
  std::error_code error;
  for (const fs::directory_entry& shelf : fs::directory_iterator(folder, error)) {
    if (shelf.path().filename() == kAside || !shelf.is_directory(error)) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(shelf.path(), error))
      add_found(entry.path(), files);
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

uint64_t size_of_asides(const fs::path& folder) {
  std::vector<FoundFile> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / kAside, error))
    add_found(entry.path(), files);
  uint64_t total = 0;
  for (const FoundFile& file : files) total += file.size;
  return total;
}

}  // namespace

Result<Digest> digest_of(int fd) {
  Hasher hasher;
  std::string buffer(1 << 20, '\0');
  off_t at = 0;
  while (true) {
    const ssize_t count = ::pread(fd, buffer.data(), buffer.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno_error(errno, "read a file"));
    if (count == 0) return hasher.finish();
    hasher.update(std::string_view(buffer).substr(0, static_cast<size_t>(count)));
    at += count;
  }
}

Timestamp FileCache::boot_time() {
  const auto stat = read_file("/proc/stat", 16 << 20);
  const size_t line = stat ? stat->find("\nbtime ") : std::string::npos;
  int64_t seconds = 0;
  if (line != std::string::npos)
    std::from_chars(stat->data() + line + 7, stat->data() + stat->size(), seconds);
  // Without a boot time nothing that is already there is trusted.
  if (seconds <= 0) return SystemClock().now();
  return {seconds * 1'000'000};
}

Result<std::unique_ptr<FileCache>> FileCache::open(fs::path folder, uint64_t max_bytes,
                                                   Timestamp trusted_since) {
  SLIPWAY_TRY(make_folders(folder / kAside));
  return std::unique_ptr<FileCache>(new FileCache(std::move(folder), max_bytes, trusted_since));
}

fs::path FileCache::path_of(const CacheKey& key) const {
  const std::string hex = key.name.hex();
  return folder_ / hex.substr(0, 2) / hex.substr(2);
}

fs::path FileCache::aside_of(const CacheKey& key, std::string_view ending) const {
  return folder_ / kAside / (key.name.hex() + std::string(ending));
}

bool FileCache::holds(const CacheKey& key, uint64_t size) const {
  struct stat status{};
  return ::lstat(path_of(key).c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         static_cast<uint64_t>(status.st_size) == size;
}

Result<UniqueFd> FileCache::open_file(const CacheKey& key, uint64_t size) {
  const fs::path path = path_of(key);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0)
    return fail(ErrorCode::kNotFound, fmt::format("the cache has no {}", key.name.hex()));
  Status good;
  if (static_cast<uint64_t>(status.st_size) != size) {
    good = fail(ErrorCode::kNotFound, fmt::format("{} in the cache has a wrong size", key.name.hex()));
  } else if (status.st_ctim.tv_sec * 1'000'000 < trusted_since_.micros) {
    good = check(key, fd.get());
    // Also the time of the last change, which says from then on that it was looked at.
    if (good) ::futimens(fd.get(), nullptr);
  }
  if (!good) {
    log_warning("cache.damaged", {{"file", key.name.hex()}, {"error", good.error()}});
    ::unlink(path.c_str());
    return fail(std::move(good).error());
  }
  mark_used(fd.get(), status);
  return fd;
}

Status FileCache::check(const CacheKey& key, int fd) const {
  if (!key.of_content)
    return fail(ErrorCode::kNotFound,
                fmt::format("{} was cached before this machine was restarted", key.name.hex()));
  SLIPWAY_ASSIGN(const Digest actual, digest_of(fd));
  if (actual == key.name) return {};
  return fail(ErrorCode::kNotFound, fmt::format("{} in the cache holds other bytes", key.name.hex()));
}

Result<std::string> FileCache::read(const Digest& digest, size_t limit) {
  SLIPWAY_ASSIGN(std::string content, read_file(path_of(digest), limit));
  if (Digest::of(content) != digest) {
    ::unlink(path_of(digest).c_str());
    return fail(ErrorCode::kNotFound, fmt::format("{} in the cache holds other bytes", digest.hex()));
  }
  return content;
}

Result<std::unique_ptr<FileCache::Writer>> FileCache::begin(const CacheKey& key) {
  std::unique_ptr<Writer> writer(new Writer(*this, key));
  writer->aside_ = folder_ / kAside / random_base32(20);
  SLIPWAY_ASSIGN(writer->fd_, open_in_own_folder(writer->aside_, O_WRONLY | O_EXCL));
  return writer;
}

Status FileCache::put(const CacheKey& key, std::string_view content) {
  SLIPWAY_ASSIGN(const std::unique_ptr<Writer> writer, begin(key));
  SLIPWAY_TRY(writer->append(content));
  return writer->finish();
}

void FileCache::offer(const CacheKey& key, std::string_view content) {
  if (const Status put = this->put(key, content); !put)
    log_warning("cache.not_kept", {{"file", key.name.hex()}, {"error", put.error()}});
}

FileCache::Writer::~Writer() {
  if (fd_) ::unlink(aside_.c_str());
}

Status FileCache::Writer::append(std::string_view bytes) {
  if (key_.of_content) hasher_.update(bytes);
  int tries = 0;
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == ENOSPC || errno == EDQUOT) && tries++ < kMostRooms &&
        cache_.make_room(bytes.size()))
      continue;
    if (count < 0) return fail(errno_error(errno, "write to the cache"));
    bytes.remove_prefix(static_cast<size_t>(count));
    size_ += static_cast<uint64_t>(count);
  }
  return {};
}

Status FileCache::Writer::finish() {
  if (key_.of_content && hasher_.finish() != key_.name)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the bytes that came for {} are others", key_.name.hex()));
  SLIPWAY_TRY(cache_.give_name(key_, aside_));
  fd_.reset();
  const std::lock_guard lock(cache_.mutex_);
  cache_.added_since_trim_ += size_;
  return {};
}

Status FileCache::give_name(const CacheKey& key, const fs::path& aside) const {
  const fs::path path = path_of(key);
  if (::rename(aside.c_str(), path.c_str()) == 0) return {};
  SLIPWAY_TRY(make_folders(path.parent_path()));
  if (::rename(aside.c_str(), path.c_str()) == 0) return {};
  return fail(errno_error(errno, fmt::format("store {} in the cache", key.name.hex())));
}

Result<std::shared_ptr<PartialFile>> FileCache::open_partial(const CacheKey& key, uint64_t size) {
  SLIPWAY_ASSIGN(const CacheLock whole, lock(key, CacheLock::kWhole));
  if (holds(key, size)) return nullptr;
  const std::lock_guard guard(mutex_);
  std::erase_if(partials_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<PartialFile>& known = partials_[key.name];
  if (auto partial = known.lock()) return partial;
  SLIPWAY_ASSIGN(std::shared_ptr<PartialFile> partial,
                 PartialFile::open(aside_of(key, ".part"), aside_of(key, ".have"), size));
  known = partial;
  return partial;
}

Status FileCache::finish_partial(const CacheKey& key, PartialFile& partial) {
  SLIPWAY_ASSIGN(const CacheLock whole, lock(key, CacheLock::kWhole));
  struct stat ours{};
  struct stat named{};
  // Finished by another process meanwhile, or swept: then there is nothing to rename, and who still wants it
  // begins anew.
  if (::fstat(partial.fd(), &ours) != 0 || ::lstat(aside_of(key, ".part").c_str(), &named) != 0 ||
      ours.st_ino != named.st_ino || ours.st_dev != named.st_dev) {
    const std::lock_guard guard(mutex_);
    if (const auto known = partials_.find(key.name);
        known != partials_.end() && known->second.lock().get() == &partial)
      partials_.erase(known);
    return {};
  }
  const Status good = key.of_content ? check(key, partial.fd()) : Status();
  if (good) SLIPWAY_TRY(give_name(key, aside_of(key, ".part")));
  drop_partial(key);
  const std::lock_guard guard(mutex_);
  added_since_trim_ += partial.size();
  if (good) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the bytes that came for {} are others", key.name.hex()));
}

void FileCache::drop_partial(const CacheKey& key) {
  ::unlink(aside_of(key, ".have").c_str());
  ::unlink(aside_of(key, ".part").c_str());
  const std::lock_guard guard(mutex_);
  partials_.erase(key.name);
}

void FileCache::trim() {
  {
    // Looking through the cache is worth it at the start, for what earlier processes left, and then now and
    // again.
    const std::lock_guard lock(mutex_);
    if (trimmed_ && added_since_trim_ < max_bytes_ / 20) return;
    trimmed_ = true;
    added_since_trim_ = 0;
  }
  remove_stale_asides(folder_);
  uint64_t total = size_of_asides(folder_);
  for (const FoundFile& file : list_files(folder_)) total += file.size;
  if (total <= max_bytes_) return;
  remove_oldest(total - (max_bytes_ - max_bytes_ / 10));
}

bool FileCache::make_room(uint64_t bytes) {
  // More than is needed now: a full disk is met again at once otherwise.
  constexpr uint64_t kAtOnce = 64 << 20;
  const std::lock_guard lock(room_mutex_);
  struct statvfs disk{};
  if (::statvfs(folder_.c_str(), &disk) == 0 && uint64_t{disk.f_bavail} * disk.f_frsize > bytes + (1 << 20))
    return true;
  return remove_oldest(std::max(bytes, kAtOnce)) > 0;
}

uint64_t FileCache::remove_oldest(uint64_t bytes) {
  std::vector<FoundFile> files = list_files(folder_);
  std::ranges::sort(files, {}, &FoundFile::used);
  uint64_t removed = 0;
  for (const FoundFile& file : files) {
    if (removed >= bytes) break;
    if (::unlink(file.path.c_str()) == 0) removed += file.size;
  }
  log_info("cache.trimmed", {{"bytes", removed}});
  return removed;
}

}  // namespace slipway::data

#include "blobs/blob_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>
#include <set>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/random.h"

namespace slipway::blobs {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string folder_name(size_t first) {
  return fmt::format("{:02x}", first);
}

}  // namespace

Result<std::unique_ptr<BlobFolder>> BlobFolder::open(const std::string& path) {
  SLIPWAY_TRY(make_folders(path));
  UniqueFd root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail(errno_error(errno, fmt::format("open the folder {}", path)));
  if (::mkdirat(root.get(), ".partial", 0700) != 0 && errno != EEXIST)
    return fail(errno_error(errno, fmt::format("create a folder in {}", path)));
  UniqueFd partial(::openat(root.get(), ".partial", kFolder));
  if (!partial) return fail(errno_error(errno, fmt::format("open the folder {}/.partial", path)));
  std::unique_ptr<BlobFolder> folder(new BlobFolder(std::move(root), std::move(partial)));
  folder->find_folders();
  if (::fsync(folder->root()) != 0) return fail(errno_error(errno, fmt::format("sync the folder {}", path)));
  return folder;
}

void BlobFolder::find_folders() {
  for (size_t first = 0; first < folders_.size(); ++first)
    folders_[first] = ::faccessat(root(), folder_name(first).c_str(), X_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string BlobFolder::name_of(const Digest& digest) {
  std::string name = digest.hex();
  name.insert(2, "/");
  return name;
}

Status BlobFolder::make_folders_for(const std::vector<Digest>& digests) {
  const std::lock_guard lock(folders_mutex_);
  std::bitset<256> made;
  for (const Digest& digest : digests) {
    const size_t first = digest.bytes()[0];
    if (folders_[first] || made[first]) continue;
    // Another process may have made it, and may not have synced it yet.
    if (::mkdirat(root(), folder_name(first).c_str(), 0700) != 0 && errno != EEXIST)
      return fail(errno_error(errno, "create a folder of the blob store"));
    made.set(first);
  }
  if (made.any() && ::fsync(root()) != 0) return fail(errno_error(errno, "sync the blob folder"));
  folders_ |= made;
  return {};
}

Status BlobFolder::publish(const std::string& partial_name, const Digest& digest) {
  const std::string name = name_of(digest);
  const std::lock_guard lock(lock_for(digest));
  SLIPWAY_FAILPOINT("blob.before_rename");
  // All of its bytes may have come long ago, in an upload that was interrupted.
  if (::utimensat(partial(), partial_name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) != 0)
    return fail(errno_error(errno, fmt::format("store the blob {}", name)));
  if (::renameat(partial(), partial_name.c_str(), root(), name.c_str()) != 0)
    return fail(errno_error(errno, fmt::format("store the blob {}", name)));
  return {};
}

Status BlobFolder::sync_names(const std::vector<Digest>& digests) {
  std::set<unsigned char> folders;
  for (const Digest& digest : digests) folders.insert(digest.bytes()[0]);
  for (const unsigned char folder : folders) {
    const UniqueFd fd(::openat(root(), folder_name(folder).c_str(), kFolder));
    if (!fd || ::fsync(fd.get()) != 0) return fail(errno_error(errno, "sync the blob folder"));
  }
  return {};
}

bool BlobFolder::touch(const Digest& digest) {
  const std::lock_guard lock(lock_for(digest));
  return ::utimensat(root(), name_of(digest).c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0;
}

class BlobFolder::FolderHold final : public Hold {
 public:
  explicit FolderHold(BlobFolder& folder) : folder_(folder) {
    const std::lock_guard lock(folder_.holds_mutex_);
    // File times come from a clock that lags by some milliseconds.
    began_ = folder_.holds_.insert({SystemClock().now().micros - 1'000'000});
  }
  FolderHold(const FolderHold&) = delete;
  FolderHold& operator=(const FolderHold&) = delete;
  ~FolderHold() override {
    const std::lock_guard lock(folder_.holds_mutex_);
    folder_.holds_.erase(began_);
  }

 private:
  BlobFolder& folder_;
  std::multiset<Timestamp>::iterator began_;
};

std::unique_ptr<Hold> BlobFolder::hold() {
  return std::make_unique<FolderHold>(*this);
}

Timestamp BlobFolder::oldest_hold() {
  const std::lock_guard lock(holds_mutex_);
  return holds_.empty() ? Timestamp{std::numeric_limits<int64_t>::max()} : *holds_.begin();
}

Result<std::optional<uint64_t>> BlobFolder::hide(const Digest& digest, Duration unused) {
  const std::string name = name_of(digest);
  struct stat info{};
  const std::lock_guard lock(lock_for(digest));
  if (::fstatat(root(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return fail(errno_error(errno, fmt::format("look at the blob {}", name)));
  }
  const Timestamp young{info.st_mtim.tv_sec * 1'000'000 + info.st_mtim.tv_nsec / 1000};
  const bool is_young =
      unused > Duration::zero() && SystemClock().now().micros - young.micros < unused.count();
  if (is_young || young >= oldest_hold()) return std::nullopt;
  const std::string aside = std::string(kHiddenPrefix) + random_base32(16);
  if (::renameat(root(), name.c_str(), partial(), aside.c_str()) != 0)
    return fail(errno_error(errno, fmt::format("remove the blob {}", name)));
  return static_cast<uint64_t>(info.st_size);
}

}  // namespace slipway::blobs

#include "blobs/blob_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <set>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/random.h"

namespace slipway::blobs {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// All at once and durable, so that no upload has to make one and sync the root for it.
Status make_subfolders(int root) {
  bool made = ::mkdirat(root, ".partial", 0700) == 0;
  for (int first = 0; first < 256 && (made || errno == EEXIST); ++first)
    made = ::mkdirat(root, fmt::format("{:02x}", first).c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return fail(errno_error(errno, "create the folders of the blob store"));
  if (::fsync(root) != 0) return fail(errno_error(errno, "sync the blob folder"));
  return {};
}

}  // namespace

Result<std::unique_ptr<BlobFolder>> BlobFolder::open(const std::string& path) {
  SLIPWAY_TRY(make_folders(path));
  UniqueFd root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail(errno_error(errno, fmt::format("open the folder {}", path)));
  SLIPWAY_TRY(make_subfolders(root.get()));
  UniqueFd partial(::openat(root.get(), ".partial", kFolder));
  if (!partial) return fail(errno_error(errno, fmt::format("open the folder {}/.partial", path)));
  return std::unique_ptr<BlobFolder>(new BlobFolder(std::move(root), std::move(partial)));
}

std::string BlobFolder::name_of(const Digest& digest) {
  std::string name = digest.hex();
  name.insert(2, "/");
  return name;
}

Status BlobFolder::publish(const std::string& partial_name, const Digest& digest) {
  const std::string name = name_of(digest);
  const std::lock_guard lock(lock_for(digest));
  SLIPWAY_FAILPOINT("blob.before_rename");
  if (::renameat(partial(), partial_name.c_str(), root(), name.c_str()) != 0)
    return fail(errno_error(errno, fmt::format("store the blob {}", name)));
  return {};
}

Status BlobFolder::sync_names(const std::vector<Digest>& digests) {
  std::set<unsigned char> folders;
  for (const Digest& digest : digests) folders.insert(digest.bytes()[0]);
  for (const unsigned char folder : folders) {
    const UniqueFd fd(::openat(root(), fmt::format("{:02x}", folder).c_str(), kFolder));
    if (!fd || ::fsync(fd.get()) != 0) return fail(errno_error(errno, "sync the blob folder"));
  }
  return {};
}

bool BlobFolder::touch(const Digest& digest) {
  const std::lock_guard lock(lock_for(digest));
  return ::utimensat(root(), name_of(digest).c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<std::optional<uint64_t>> BlobFolder::remove(const Digest& digest, Duration unused) {
  const std::string name = name_of(digest);
  const std::string aside = "removed-" + random_base32(12);
  struct stat info{};
  {
    const std::lock_guard lock(lock_for(digest));
    if (::fstatat(root(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return std::nullopt;
      return fail(errno_error(errno, fmt::format("look at the blob {}", name)));
    }
    const Timestamp young{info.st_mtim.tv_sec * 1'000'000 + info.st_mtim.tv_nsec / 1000};
    if (unused > Duration::zero() && SystemClock().now().micros - young.micros < unused.count())
      return std::nullopt;
    // Renamed under the lock, freed outside of it: freeing a large file takes long.
    if (::renameat(root(), name.c_str(), partial(), aside.c_str()) != 0)
      return fail(errno_error(errno, fmt::format("remove the blob {}", name)));
  }
  if (::unlinkat(partial(), aside.c_str(), 0) != 0)
    return fail(errno_error(errno, fmt::format("remove the blob {}", name)));
  return static_cast<uint64_t>(info.st_size);
}

}  // namespace slipway::blobs

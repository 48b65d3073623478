#include "data/target_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/file.h"

namespace slipway::data {
namespace {

constexpr size_t kPiece = 1 << 20;

Status copy_bytes(int from, int to, uint64_t size) {
  if (size == 0 || ::ioctl(to, FICLONE, from) == 0) return {};
  off_t at = 0;
  while (static_cast<uint64_t>(at) < size) {
    const ssize_t count = ::copy_file_range(from, &at, to, nullptr, size - static_cast<uint64_t>(at), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == ENOSPC || errno == EDQUOT)) return fail(errno_error(errno, "write"));
    if (count <= 0) break;  // not between these file systems
  }
  const auto buffer =
      static_cast<uint64_t>(at) < size ? std::make_unique_for_overwrite<char[]>(kPiece) : nullptr;
  while (static_cast<uint64_t>(at) < size) {
    const ssize_t count = ::pread(from, buffer.get(), kPiece, at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail(errno_error(count < 0 ? errno : EIO, "read the cache"));
    SLIPWAY_TRY(write_all(to, {buffer.get(), static_cast<size_t>(count)}));
    at += count;
  }
  return {};
}

// The folder of `relative`, made where it lacks, and the name in it.
Result<std::pair<UniqueFd, std::string>> place_of(int folder, const std::string& relative) {
  const size_t slash = relative.rfind('/');
  SLIPWAY_ASSIGN(UniqueFd parent,
                 make_folders_beneath(folder, slash == std::string::npos ? "" : relative.substr(0, slash)));
  return std::pair(std::move(parent), relative.substr(slash + 1));
}

}  // namespace

Result<TargetFolder> TargetFolder::open(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fail(errno_error(error.value(), fmt::format("create {}", path.string())));
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail(errno_error(errno, fmt::format("open {}", path.string())));
  return TargetFolder(path, std::move(folder));
}

Status TargetFolder::explained(const Status& status, const std::string& relative) const {
  if (status) return {};
  Error error = status.error();
  error.message = fmt::format("writing {}/{}: {}", path_.string(), relative, error.message);
  if (error.code == ErrorCode::kStorageFull) error.next = "free space on the disk of that folder";
  return fail(std::move(error));
}

Status TargetFolder::copy(int from, const std::string& relative, uint64_t size) const {
  SLIPWAY_ASSIGN(const auto place, place_of(folder_.get(), relative));
  const auto& [parent, name] = place;
  ::unlinkat(parent.get(), name.c_str(), 0);
  const UniqueFd to(
      ::openat(parent.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!to) return explained(fail(errno_error(errno, "create it")), relative);
  return explained(copy_bytes(from, to.get(), size), relative);
}

Status TargetFolder::take(const std::filesystem::path& from, const std::string& relative) const {
  SLIPWAY_ASSIGN(const auto place, place_of(folder_.get(), relative));
  const auto& [parent, name] = place;
  if (::renameat(AT_FDCWD, from.c_str(), parent.get(), name.c_str()) != 0) {
    if (errno == ENOENT) return fail(ErrorCode::kNotFound, fmt::format("there is no file {}", from.string()));
    return explained(fail(errno_error(errno, "rename")), relative);
  }
  ::fchmodat(parent.get(), name.c_str(), 0644, 0);
  return {};
}

Result<UniqueFd> TargetFolder::open_file(const std::string& relative) const {
  return open_beneath(folder_.get(), relative, O_RDONLY);
}

}  // namespace slipway::data

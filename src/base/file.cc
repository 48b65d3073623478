#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/failpoint.h"
#include "base/random.h"

namespace slipway {

namespace fs = std::filesystem;

Result<std::string> read_file(const fs::path& path, size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR)
      return fail(ErrorCode::kNotFound, fmt::format("there is no file {}", path.string()));
    return fail(errno_error(errno, fmt::format("open {}", path.string())));
  }
  std::string content;
  char buffer[65536];
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno_error(errno, fmt::format("read {}", path.string())));
    if (count == 0) return content;
    content.append(buffer, static_cast<size_t>(count));
    if (content.size() > limit)
      return fail(ErrorCode::kTooLarge, fmt::format("{} is larger than {} bytes", path.string(), limit));
  }
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno_error(errno, "write"));
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

Status sync_folder(const fs::path& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return fail(errno_error(errno, fmt::format("sync {}", folder.string())));
  return {};
}

Status replace_file(const fs::path& path, std::string_view content, mode_t mode) {
  const fs::path aside = path.string() + ".new-" + random_base32(8);
  {
    const UniqueFd fd(::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!fd) return fail(errno_error(errno, fmt::format("create {}", aside.string())));
    Status written = write_all(fd.get(), content);
    if (written && ::fsync(fd.get()) != 0) written = fail(errno_error(errno, "sync"));
    if (!written) {
      ::unlink(aside.c_str());
      return fail(Error{written.error().code,
                        fmt::format("writing {}: {}", path.string(), written.error().message),
                        written.error().next, written.error().detail});
    }
  }
  SLIPWAY_FAILPOINT("file.before_rename");
  if (::rename(aside.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(aside.c_str());
    return fail(errno_error(error, fmt::format("rename to {}", path.string())));
  }
  return sync_folder(path.parent_path().empty() ? fs::path(".") : path.parent_path());
}

Status make_folders(const fs::path& path) {
  fs::path built;
  for (const fs::path& part : path) {
    built /= part;
    if (::mkdir(built.c_str(), 0700) != 0 && errno != EEXIST && !fs::is_directory(built))
      return fail(errno_error(errno, fmt::format("create the folder {}", built.string())));
  }
  if (!fs::is_directory(path))
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not a folder", path.string()));
  return {};
}

Result<UniqueFd> open_in_own_folder(const fs::path& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd && errno == ENOENT) {
    SLIPWAY_TRY(make_folders(path.parent_path()));
    fd = UniqueFd(::open(path.c_str(), flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
  if (!fd) return fail(errno_error(errno, fmt::format("open {}", path.string())));
  return fd;
}

Result<UniqueFd> open_beneath(int folder_fd, std::string_view relative, int flags, mode_t mode) {
  if (!is_clean_relative_path(relative))
    return fail(ErrorCode::kInvalidArgument, "that path leaves its folder or has an odd component");
  const std::string path(relative);
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  long fd = ::syscall(SYS_openat2, folder_fd, path.c_str(), &how, sizeof how);
  if (fd < 0 && errno == ENOSYS) {
    // Without openat2: walk the components, each opened without following links.
    UniqueFd at(::fcntl(folder_fd, F_DUPFD_CLOEXEC, 0));
    size_t start = 0;
    for (size_t slash = path.find('/'); at && slash != std::string::npos; slash = path.find('/', start)) {
      at = UniqueFd(::openat(at.get(), path.substr(start, slash - start).c_str(),
                             O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      start = slash + 1;
    }
    if (at) fd = ::openat(at.get(), path.c_str() + start, flags | O_NOFOLLOW | O_CLOEXEC, mode);
  }
  if (fd >= 0) return UniqueFd(static_cast<int>(fd));
  if (errno == ENOENT || errno == ENOTDIR)
    return fail(ErrorCode::kNotFound, fmt::format("there is no file {}", path));
  return fail(errno_error(errno, fmt::format("open {}", path)));
}

// What trying again does not mend is told from what a failing machine does.
static Error no_folder(int errno_value, std::string_view doing, std::string_view folder) {
  Error error = errno_error(errno_value, fmt::format("{} the folder {}", doing, folder));
  if (errno_value == ENOTDIR || errno_value == ELOOP) {
    error.code = ErrorCode::kConflict;
    error.next = "something else is in its place: remove that, or choose another path";
  } else if (errno_value == EACCES || errno_value == EPERM || errno_value == EROFS) {
    error.code = ErrorCode::kPermissionDenied;
    error.next = "it must be writable for the user that Slipway runs as";
  }
  return error;
}

Result<UniqueFd> make_folders_beneath(int folder_fd, std::string_view relative) {
  UniqueFd at(::openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at) return fail(errno_error(errno, "open a folder"));
  if (relative.empty()) return at;
  if (!is_clean_relative_path(relative))
    return fail(ErrorCode::kInvalidArgument, "that path leaves its folder or has an odd component");
  for (size_t start = 0; start <= relative.size();) {
    const size_t slash = std::min(relative.find('/', start), relative.size());
    const std::string name(relative.substr(start, slash - start));
    if (::mkdirat(at.get(), name.c_str(), 0755) != 0 && errno != EEXIST)
      return fail(no_folder(errno, "create", relative.substr(0, slash)));
    UniqueFd next(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return fail(no_folder(errno, "open", relative.substr(0, slash)));
    at = std::move(next);
    start = slash + 1;
  }
  return at;
}

bool is_clean_relative_path(std::string_view path) {
  if (path.empty() || path.size() > 4096) return false;
  if (path.find('\0') != std::string_view::npos || path.find('\\') != std::string_view::npos) return false;
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > 255) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

std::optional<uint64_t> process_start_ticks(pid_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid), 4096);
  if (!stat) return std::nullopt;
  // The second field is the program's name in brackets and may hold anything; the start time is the 22nd.
  size_t at = stat->rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = stat->find(' ', at + 1);
  if (at == std::string::npos) return std::nullopt;
  uint64_t ticks = 0;
  const char* begin = stat->data() + at + 1;
  if (std::from_chars(begin, stat->data() + stat->size(), ticks).ec != std::errc()) return std::nullopt;
  return ticks;
}

namespace {

// A lock of the open file description: it goes with the last copy of the descriptor, like flock's, but unlike
// flock's it can be asked about without being taken, so that a question never makes a taker fail.
struct flock whole_file() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Result<std::optional<FileLock>> FileLock::try_take(const fs::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return fail(errno_error(errno, fmt::format("open {}", path.string())));
  struct flock lock = whole_file();
  if (::fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return std::optional<FileLock>();
    return fail(errno_error(errno, fmt::format("lock {}", path.string())));
  }
  const pid_t self = ::getpid();
  const std::string holder = fmt::format("{} {}\n", self, process_start_ticks(self).value_or(0));
  // On a full disk the lock holds all the same; only who holds it is not known.
  if (::ftruncate(fd.get(), 0) == 0) (void)!::pwrite(fd.get(), holder.data(), holder.size(), 0);
  return FileLock(std::move(fd));
}

bool FileLock::is_held(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return false;
  struct flock lock = whole_file();
  return ::fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::optional<FileLock::Holder> FileLock::holder(const fs::path& path) {
  if (!is_held(path)) return std::nullopt;
  const auto content = read_file(path, 4096);
  if (!content) return std::nullopt;
  Holder holder;
  const char* const end = content->data() + content->size();
  const auto pid = std::from_chars(content->data(), end, holder.pid);
  if (pid.ec != std::errc() || pid.ptr == end || holder.pid <= 0) return std::nullopt;
  if (std::from_chars(pid.ptr + 1, end, holder.start_ticks).ec != std::errc()) return std::nullopt;
  // Between taking the lock and writing into it, the file still names the holder before.
  if (process_start_ticks(holder.pid) != holder.start_ticks) return std::nullopt;
  return holder;
}

}  // namespace slipway

#include "data/folder_datastore.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/random.h"
#include "data/folder_walk.h"

namespace slipway::data {
namespace {

constexpr size_t kPiece = 1 << 20;
constexpr int kReadsOfAChangingFile = 3;

std::unexpected<Error> changed(const std::string& path) {
  return fail(ErrorCode::kConflict, fmt::format("the file '{}' changed while it was read", path),
              "try again when nothing writes to it");
}

Error not_writable(int errno_value, const std::string& path, const std::string& root) {
  Error error = errno_error(errno_value, fmt::format("create '{}' in the folder {}", path, root));
  if (errno_value != EACCES && errno_value != EPERM && errno_value != EROFS) return error;
  error.code = ErrorCode::kPermissionDenied;
  error.next = "it must be writable for the user that Slipway runs as";
  return error;
}

Result<Object> look_at(int fd, const std::string& path) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return fail(errno_error(errno, fmt::format("look at {}", path)));
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::kNotFound, fmt::format("'{}' is not a file", path));
  return object_of(path, status);
}

// Gives the sink what lies between `offset` and `end`, in pieces of the buffer's size.
Status read_range(int fd, const std::string& path, uint64_t offset, uint64_t end, std::span<char> buffer,
                  const Sink& sink) {
  while (offset < end) {
    const size_t wanted = std::min<uint64_t>(buffer.size(), end - offset);
    const ssize_t count = ::pread(fd, buffer.data(), wanted, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno_error(errno, fmt::format("read {}", path)));
    if (count == 0) return changed(path);  // shorter than it was a moment ago
    SLIPWAY_TRY(sink({buffer.data(), static_cast<size_t>(count)}));
    offset += static_cast<uint64_t>(count);
  }
  return {};
}

// A file in the making, removed unless it was given its name.
class Aside {
 public:
  Aside(int folder_fd, std::string name) : folder_fd_(folder_fd), name_(std::move(name)) {}
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  ~Aside() {
    if (!name_.empty()) ::unlinkat(folder_fd_, name_.c_str(), 0);
  }

  Status publish(const std::string& as, const std::string& path, bool overwrite) {
    const unsigned flags = overwrite ? 0 : RENAME_NOREPLACE;
    if (::renameat2(folder_fd_, name_.c_str(), folder_fd_, as.c_str(), flags) != 0) {
      if (errno == EEXIST)
        return fail(ErrorCode::kConflict, fmt::format("the file '{}' is there already", path),
                    "choose another path, or overwrite it");
      if (errno == EISDIR || errno == ENOTEMPTY)
        return fail(ErrorCode::kConflict, fmt::format("'{}' is a folder", path), "choose another path");
      return fail(errno_error(errno, fmt::format("rename to {}", path)));
    }
    name_.clear();
    if (::fsync(folder_fd_) != 0) return fail(errno_error(errno, fmt::format("sync the folder of {}", path)));
    return {};
  }

 private:
  int folder_fd_;
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<FolderDatastore>> FolderDatastore::open(const std::filesystem::path& root) {
  UniqueFd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) return std::unique_ptr<FolderDatastore>(new FolderDatastore(std::move(fd), root.string()));
  const bool unreadable = errno == EACCES || errno == EPERM;
  return fail(unreadable ? ErrorCode::kPermissionDenied : ErrorCode::kInvalidArgument,
              fmt::format("cannot use the folder {}: {}", root.string(), std::strerror(errno)),
              "it must be there, and readable for the user that Slipway runs as");
}

Result<Page> FolderDatastore::list(const ListRequest& request) {
  // A prefix is text and may end in the middle of a name; what stands before that must be clean all the same.
  const std::string whole = request.prefix + (request.prefix.ends_with('/') ? "x" : "");
  if (!request.prefix.empty() && !is_clean_relative_path(whole))
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no path below a datastore", request.prefix),
                "paths are relative, without '..', empty components and backslashes");
  return walk_page(root_.get(), request);
}

Result<UniqueFd> FolderDatastore::open_file(const std::string& path) {
  // Without O_NONBLOCK a pipe in the file's place would block.
  SLIPWAY_ASSIGN(UniqueFd file, open_inside(root_.get(), path, O_RDONLY | O_NONBLOCK));
  SLIPWAY_TRY(look_at(file.get(), path));
  return file;
}

Result<Object> FolderDatastore::stat(const std::string& path) {
  SLIPWAY_ASSIGN(const UniqueFd file, open_inside(root_.get(), path, O_PATH));
  return look_at(file.get(), path);
}

Result<Object> FolderDatastore::read(const std::string& path, const Range& range, const std::string& tag,
                                     const Sink& sink) {
  SLIPWAY_ASSIGN(const UniqueFd file, open_file(path));
  SLIPWAY_ASSIGN(Object before, look_at(file.get(), path));
  if (!tag.empty() && tag != before.tag)
    return fail(ErrorCode::kConflict, fmt::format("the file '{}' has changed", path));
  const uint64_t offset = std::min(range.offset, before.size);
  const uint64_t end = offset + std::min(range.length, before.size - offset);
  std::vector<char> buffer(std::clamp<uint64_t>(end - offset, 1, kPiece));
  SLIPWAY_TRY(read_range(file.get(), path, offset, end, buffer, sink));
  SLIPWAY_ASSIGN(const Object after, look_at(file.get(), path));
  if (after != before) return changed(path);
  return before;
}

Result<Object> FolderDatastore::hash(const std::string& path, std::span<char> buffer) {
  for (int i = 0; i < kReadsOfAChangingFile; ++i) {
    // Opened anew each time: editors replace files.
    SLIPWAY_ASSIGN(const UniqueFd file, open_inside(root_.get(), path, O_RDONLY | O_NONBLOCK));
    SLIPWAY_ASSIGN(Object before, look_at(file.get(), path));
    Hasher hasher;
    const Status taken =
        read_range(file.get(), path, 0, before.size, buffer, [&](std::string_view bytes) -> Status {
          hasher.update(bytes);
          return {};
        });
    if (!taken && taken.error().code != ErrorCode::kConflict) return fail(taken.error());
    SLIPWAY_ASSIGN(const Object after, look_at(file.get(), path));
    if (!taken || after != before) continue;
    before.digest = hasher.finish();
    return before;
  }
  return changed(path);
}

Result<Object> FolderDatastore::write(const std::string& path, const Pieces& pieces, bool overwrite) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (!is_clean_relative_path(path) || name.starts_with(kAsidePrefix))
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no path below a datastore", path));
  SLIPWAY_ASSIGN(const UniqueFd at, make_folders_beneath(root_.get(), folder));
  const std::string aside_name = fmt::format("{}{}", kAsidePrefix, random_base32(16));
  const UniqueFd file(
      ::openat(at.get(), aside_name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file) return fail(not_writable(errno, path, shown_));
  Aside aside(at.get(), aside_name);
  Hasher hasher;
  while (true) {
    SLIPWAY_ASSIGN(const std::string_view piece, pieces());
    if (piece.empty()) break;
    hasher.update(piece);
    SLIPWAY_TRY(write_all(file.get(), piece));
  }
  if (::fsync(file.get()) != 0) return fail(errno_error(errno, fmt::format("sync {}", path)));
  SLIPWAY_FAILPOINT("data.before_rename");
  SLIPWAY_TRY(aside.publish(name, path, overwrite));
  SLIPWAY_ASSIGN(Object object, look_at(file.get(), path));
  object.digest = hasher.finish();
  return object;
}

}  // namespace slipway::data

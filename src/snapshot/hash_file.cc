#include "snapshot/hash_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/file.h"

namespace slipway::snapshot {
namespace {

std::unexpected<Error> unreadable(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message),
              "make it readable, or name it in .slipwayignore");
}

std::unexpected<Error> read_failed(int error, const std::string& path) {
  return unreadable(fmt::format("cannot read {}: {}", path, std::strerror(error)));
}

std::unexpected<Error> changing(const std::string& path, std::string_view how) {
  return fail(ErrorCode::kConflict, fmt::format("the file {} {}", path, how),
              "submit again when nothing writes to it, or name it in .slipwayignore");
}

// nullopt: it changed while it was read.
Result<std::optional<HashedFile>> read_once(int fd, const std::string& path, std::span<char> buffer,
                                            const OnBytes& on_bytes) {
  struct stat before{};
  struct stat after{};
  if (::fstat(fd, &before) != 0) return read_failed(errno, path);
  if (!S_ISREG(before.st_mode)) return changing(path, "was replaced while the snapshot was taken");
  Hasher hasher;
  uint64_t size = 0;
  while (true) {
    const ssize_t count = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(size));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return read_failed(errno, path);
    if (count == 0) break;
    hasher.update({buffer.data(), static_cast<size_t>(count)});
    size += static_cast<uint64_t>(count);
    if (on_bytes) on_bytes(static_cast<uint64_t>(count));
    // One that grows as fast as it is read would never end.
    if (size > static_cast<uint64_t>(before.st_size)) break;
  }
  if (::fstat(fd, &after) != 0) return read_failed(errno, path);
  if (file_stat(before) != file_stat(after) || size != static_cast<uint64_t>(after.st_size))
    return std::nullopt;
  return HashedFile{.digest = hasher.finish(), .mode = kept_mode(after), .stat = file_stat(after)};
}

}  // namespace

Result<HashedFile> hash_file(int folder_fd, const std::string& path, std::span<char> buffer,
                             const OnBytes& on_bytes) {
  for (int i = 0; i < kReadsOfAChangingFile; ++i) {
    // Opened anew each time: editors replace files. Without O_NONBLOCK a pipe in the file's place would
    // block.
    const auto file = open_beneath(folder_fd, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
    if (!file && file.error().code == ErrorCode::kNotFound)
      return changing(path, "disappeared while the snapshot was taken");
    if (!file) return unreadable(file.error().message);
    SLIPWAY_ASSIGN(const auto hashed, read_once(file->get(), path, buffer, on_bytes));
    if (hashed) return *hashed;
  }
  return changing(path, fmt::format("changed while it was read, {} times", kReadsOfAChangingFile));
}

}  // namespace slipway::snapshot

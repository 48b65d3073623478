#include "snapshot/tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "base/file.h"

namespace slipway::snapshot {
namespace {

std::unexpected<Error> failed(int error, std::string_view doing, std::string_view path) {
  return fail(errno_error(error, fmt::format("{} {}", doing, path)));
}

// The folder that entries are being created in. Entries come sorted, so neighbours share it.
class CurrentFolder {
 public:
  explicit CurrentFolder(UniqueFd root) : root_(std::move(root)) {}

  // A descriptor of the folder `path` below the root ("" for the root itself), created where it is missing.
  Result<int> enter(std::string_view path) {
    if (path.empty()) return root_.get();
    if (path == path_) return fd_.get();
    SLIPWAY_ASSIGN(fd_, make_folders_beneath(root_.get(), path));
    path_ = std::string(path);
    return fd_.get();
  }

 private:
  UniqueFd root_;
  std::string path_;
  UniqueFd fd_;
};

// Copies to the end of `from`; how many bytes that was.
Result<uint64_t> copy_content(int from, int to, std::string_view path) {
  uint64_t copied = 0;
  while (true) {
    // Shares the blocks where the file system can.
    const ssize_t count = ::copy_file_range(from, nullptr, to, nullptr, 1 << 30, 0);
    if (count == 0) return copied;
    if (count > 0) {
      copied += static_cast<uint64_t>(count);
    } else if (errno != EINTR) {
      if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return failed(errno, "write", path);
      break;
    }
  }
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = ::read(from, buffer.data(), buffer.size());
    if (count == 0) return copied;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(errno, "read the content of", path);
    SLIPWAY_TRY(write_all(to, {buffer.data(), static_cast<size_t>(count)}));
    copied += static_cast<uint64_t>(count);
  }
}

Status write_file(int folder, const std::string& name, const Entry& entry, const OpenContent& open_content) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  SLIPWAY_ASSIGN(const UniqueFd content, open_content(entry));
  UniqueFd file(::openat(folder, name.c_str(), kFlags, 0600));
  if (!file && errno == EEXIST) {
    if (::unlinkat(folder, name.c_str(), 0) != 0) return failed(errno, "replace", entry.path);
    file = UniqueFd(::openat(folder, name.c_str(), kFlags, 0600));
  }
  if (!file) return failed(errno, "create", entry.path);
  SLIPWAY_ASSIGN(const uint64_t copied, copy_content(content.get(), file.get(), entry.path));
  if (copied != entry.size)
    return fail(ErrorCode::kInternal,
                fmt::format("the stored content of {} has {} bytes where the snapshot says {}", entry.path,
                            copied, entry.size));
  if (::fchmod(file.get(), static_cast<mode_t>(entry.mode)) != 0)
    return failed(errno, "set the mode of", entry.path);
  return {};
}

}  // namespace

Status write_tree(const Manifest& manifest, const std::filesystem::path& folder,
                  const OpenContent& open_content) {
  UniqueFd root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return failed(errno, "open the folder", folder.string());
  CurrentFolder current(std::move(root));
  for (const Entry& entry : manifest.entries()) {
    const size_t slash = entry.path.rfind('/');
    const bool nested = slash != std::string::npos;
    SLIPWAY_ASSIGN(const int parent,
                   current.enter(nested ? std::string_view(entry.path).substr(0, slash) : ""));
    SLIPWAY_TRY(write_file(parent, nested ? entry.path.substr(slash + 1) : entry.path, entry, open_content));
  }
  return {};
}

}  // namespace slipway::snapshot

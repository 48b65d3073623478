#include "node/agent_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/random.h"
#include "node/supervisor.h"

namespace slipway::node {
namespace {

// Deeper folders are moved up to the top and taken there, so that neither the stack nor the descriptors run
// out.
constexpr int kMaxDepth = 64;

class Remover {
 public:
  explicit Remover(UniqueFd top) : top_(std::move(top)) {
    struct stat status{};
    ::fstat(top_.get(), &status);
    device_ = status.st_dev;
  }

  // 0, or the errno of the first thing that would not go.
  int remove_all() {
    do {
      moved_up_ = false;
      empty(top_.get(), 0);
    } while (moved_up_ && error_ == 0);
    return error_;
  }

 private:
  void note(int error) {
    if (error_ == 0 && error != ENOENT) error_ = error;
  }

  void empty(int folder, int depth) {
    for (const std::string& name : names_in(folder)) remove(folder, name, depth);
  }

  std::vector<std::string> names_in(int folder) {
    std::vector<std::string> names;
    DIR* list = ::fdopendir(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (list == nullptr) {
      note(errno);
      return names;
    }
    while (const dirent* entry = ::readdir(list)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    ::closedir(list);
    return names;
  }

  void remove(int parent, const std::string& name, int depth) {
    if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return;
    if (errno == EACCES || errno == EPERM) ::fchmod(parent, 0700);
    struct stat status{};
    if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return note(errno);
    if (!S_ISDIR(status.st_mode)) {
      if (::unlinkat(parent, name.c_str(), 0) != 0) note(errno);
      return;
    }
    if (status.st_dev != device_) return note(EXDEV);
    remove_folder_at(parent, name, depth);
  }

  void remove_folder_at(int parent, const std::string& name, int depth) {
    if (depth >= kMaxDepth) {
      const std::string top_name = ".removed-" + random_base32(12);
      if (::renameat(parent, name.c_str(), top_.get(), top_name.c_str()) != 0) return note(errno);
      moved_up_ = true;
      return;
    }
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) return;
    UniqueFd folder = open_folder(parent, name);
    if (!folder) return note(errno);
    empty(folder.get(), depth + 1);
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0) note(errno);
  }

  static UniqueFd open_folder(int parent, const std::string& name) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd folder(::openat(parent, name.c_str(), kFlags));
    if (folder || errno != EACCES) return folder;
    // O_PATH needs no permission on the folder itself; the mode is changed through it, so that no link is
    // followed.
    const UniqueFd path(::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!path) return folder;
    ::chmod(fmt::format("/proc/self/fd/{}", path.get()).c_str(), 0700);
    return UniqueFd(::openat(parent, name.c_str(), kFlags));
  }

  UniqueFd top_;
  dev_t device_ = 0;
  bool moved_up_ = false;
  int error_ = 0;
};

}  // namespace

Status remove_folder(const std::filesystem::path& folder) {
  UniqueFd top(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top && errno == ENOENT) return {};
  if (!top) return fail(errno_error(errno, fmt::format("open {}", folder.string())));
  if (const int error = Remover(std::move(top)).remove_all(); error != 0)
    return fail(errno_error(error, fmt::format("remove what is in {}", folder.string())));
  if (::rmdir(folder.c_str()) != 0 && errno != ENOENT)
    return fail(errno_error(errno, fmt::format("remove {}", folder.string())));
  return {};
}

Status clear_attempt(const std::filesystem::path& folder) {
  SLIPWAY_TRY(end_orphans(folder.string(), "its node is not wanted any more"));
  return remove_folder(folder);
}

}  // namespace slipway::node

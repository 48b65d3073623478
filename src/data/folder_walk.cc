#include "data/folder_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/file.h"
#include "base/utf8.h"
#include "data/folder_datastore.h"
#include "data/shown.h"

namespace slipway::data {
namespace {

// Each level holds one descriptor.
constexpr size_t kMaxDepth = 100;

struct CloseDir {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

struct FolderIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FolderIdentity&) const = default;
};

// What lies in one folder. `order` is the name as it counts in the order of whole paths: "a-b" comes before
// what lies in the folder "a", since '-' is less than '/'.
struct Entry {
  std::string order;
  bool is_folder = false;
  bool is_link = false;
  std::string refused = {};

  std::string_view name() const {
    return std::string_view(order).substr(0, order.size() - (is_folder ? 1 : 0));
  }
};

class Walker {
 public:
  Walker(int root_fd, const ListRequest& request) : root_fd_(root_fd), request_(request) {}

  Result<Page> walk() {
    UniqueFd root(::openat(root_fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) return unreadable(errno, ".");
    SLIPWAY_TRY(enter(std::move(root), ""));
    return std::move(page_);
  }

 private:
  static std::unexpected<Error> unreadable(int error, std::string_view folder) {
    return fail(ErrorCode::kPermissionDenied,
                fmt::format("cannot read the folder {}: {}", folder, std::strerror(error)),
                "make it readable for the user that Slipway runs as");
  }

  bool full() const { return !page_.next.empty(); }

  // Whether anything at or below `path` can be on this page; a folder's path ends in '/'.
  bool is_wanted(std::string_view path, bool is_folder) const {
    const std::string_view prefix = request_.prefix;
    const std::string_view after = request_.after;
    if (!path.starts_with(prefix) && !(is_folder && prefix.starts_with(path))) return false;
    return path > after || (is_folder && after.starts_with(path));
  }

  Status enter(UniqueFd fd, const std::string& folder) {
    struct stat status{};
    if (::fstat(fd.get(), &status) != 0) return unreadable(errno, folder);
    above_.push_back({.device = status.st_dev, .inode = status.st_ino});
    const std::unique_ptr<DIR, CloseDir> opened(::fdopendir(fd.get()));
    if (!opened) return unreadable(errno, folder);
    fd.release();  // the DIR has it now
    SLIPWAY_ASSIGN(std::vector<Entry> entries, read_entries(opened.get(), folder));
    std::ranges::sort(entries, {}, &Entry::order);
    for (const Entry& entry : entries) {
      SLIPWAY_TRY(visit(::dirfd(opened.get()), entry, folder));
      if (full()) break;
    }
    above_.pop_back();
    return {};
  }

  Result<std::vector<Entry>> read_entries(DIR* opened, const std::string& folder) {
    std::vector<Entry> entries;
    while (true) {
      errno = 0;
      const dirent* found = ::readdir(opened);
      if (found == nullptr && errno != 0) return unreadable(errno, folder);
      if (found == nullptr) return entries;
      const std::string_view name = found->d_name;
      if (name == "." || name == ".." || name.starts_with(kAsidePrefix)) continue;
      Entry entry{.order = std::string(name)};
      if (classify(::dirfd(opened), *found, folder, entry) &&
          is_wanted(folder + entry.order, entry.is_folder))
        entries.push_back(std::move(entry));
    }
  }

  // False for what is no file and no folder, and for what is gone by now.
  bool classify(int folder_fd, const dirent& found, const std::string& folder, Entry& entry) {
    mode_t type = static_cast<mode_t>(DTTOIF(found.d_type));
    struct stat status{};
    if (found.d_type == DT_UNKNOWN) {
      if (::fstatat(folder_fd, found.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
      type = status.st_mode & S_IFMT;
    }
    if (!is_utf8(entry.order) || entry.order.contains('\\')) {
      entry.order = to_valid_utf8(entry.order);
      entry.refused = "its name has a backslash or bytes that are not UTF-8";
      return true;
    }
    if (S_ISLNK(type)) {
      entry.is_link = true;
      const auto target = open_inside(root_fd_, folder + entry.order, O_PATH);
      if (!target || ::fstat(target->get(), &status) != 0) {
        entry.refused = target ? "it cannot be looked at" : target.error().message;
        return true;
      }
      type = status.st_mode & S_IFMT;
    }
    entry.is_folder = S_ISDIR(type);
    if (entry.is_folder) entry.order += '/';
    return entry.is_folder || S_ISREG(type);
  }

  Status visit(int folder_fd, const Entry& entry, const std::string& folder) {
    std::string path = folder + std::string(entry.name());
    if (!entry.refused.empty()) return add({.path = std::move(path), .refused = entry.refused});
    if (path.size() > 4096) return add({.path = std::move(path), .refused = "its path is too long"});
    if (entry.is_folder) return descend(folder_fd, entry, std::move(path));
    struct stat status{};
    if (entry.is_link) {
      const auto target = open_inside(root_fd_, path, O_PATH);
      if (!target || ::fstat(target->get(), &status) != 0) return {};
    } else if (::fstatat(folder_fd, entry.order.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return {};  // gone since its folder was read
    }
    return add(object_of(std::move(path), status));
  }

  Status descend(int folder_fd, const Entry& entry, std::string path) {
    if (above_.size() > kMaxDepth)
      return fail(ErrorCode::kTooLarge,
                  fmt::format("the folder {} lies more than {} levels deep", path, kMaxDepth));
    UniqueFd below;
    if (entry.is_link) {
      SLIPWAY_ASSIGN(below, open_inside(root_fd_, path, O_RDONLY | O_DIRECTORY));
    } else {
      below = UniqueFd(::openat(folder_fd, std::string(entry.name()).c_str(),
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!below && errno == ENOENT) return {};
      if (!below) return unreadable(errno, path);
    }
    struct stat status{};
    if (::fstat(below.get(), &status) != 0) return unreadable(errno, path);
    const FolderIdentity identity{.device = status.st_dev, .inode = status.st_ino};
    if (std::ranges::find(above_, identity) != above_.end())
      return add({.path = std::move(path), .refused = "it is a link to a folder that it lies in: a loop"});
    return enter(std::move(below), path + "/");
  }

  Status add(Object object) {
    if (page_.objects.size() == request_.limit) {
      page_.next = page_.objects.back().path;
      return {};
    }
    page_.objects.push_back(std::move(object));
    return {};
  }

  int root_fd_;
  const ListRequest& request_;
  Page page_;
  std::vector<FolderIdentity> above_;  // the folders being walked, from the root
};

}  // namespace

Result<UniqueFd> open_inside(int root_fd, const std::string& relative, int flags) {
  if (!is_clean_relative_path(relative))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no path below a datastore", shown(relative)),
                "paths are relative, without '..', empty components and backslashes");
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, root_fd, relative.c_str(), &how, sizeof how);
  if (fd >= 0) return UniqueFd(static_cast<int>(fd));
  switch (errno) {
    case ENOSYS: return open_beneath(root_fd, relative, flags);  // an old kernel: links are not followed
    case ENOENT:
    case ENOTDIR:
      return fail(ErrorCode::kNotFound,
                  fmt::format("there is no file '{}', or its link leads nowhere", relative));
    case EXDEV:
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is a link that leaves the datastore", relative),
                  "copy what it points to, or add a datastore for that folder");
    case ELOOP:
      return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is a link in a loop of links", relative));
    case EACCES:
    case EPERM:
      return fail(ErrorCode::kPermissionDenied,
                  fmt::format("cannot read '{}': {}", relative, std::strerror(errno)),
                  "make it readable for the user that Slipway runs as");
    default: return fail(errno_error(errno, fmt::format("open {}", relative)));
  }
}

Object object_of(std::string path, const struct stat& status) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t modified = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec;
  return {.path = std::move(path),
          .size = static_cast<uint64_t>(status.st_size),
          .tag = fmt::format("{:x}-{:x}", status.st_size, modified),
          .digest = std::nullopt,
          .refused = ""};
}

Result<Page> walk_page(int root_fd, const ListRequest& request) {
  return Walker(root_fd, request).walk();
}

}  // namespace slipway::data

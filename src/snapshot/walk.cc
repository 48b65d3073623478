#include "snapshot/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

#include "base/file.h"
#include "base/utf8.h"
#include "snapshot/ignore.h"

namespace slipway::snapshot {
namespace {

// Each level holds one descriptor.
constexpr int kMaxDepth = 200;

struct CloseDir {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using OpenDir = std::unique_ptr<DIR, CloseDir>;

std::string size_text(uint64_t bytes) {
  if (bytes >= 1ULL << 30) return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1ULL << 30));
  if (bytes >= 1ULL << 20) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1ULL << 20));
  return fmt::format("{} bytes", bytes);
}

std::string as_text(std::string name) {
  if (!is_utf8(name))
    for (char& c : name)
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return name;
}

std::unexpected<Error> unreadable(int error, std::string_view what, std::string_view path) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("cannot read the {} {}: {}", what, path, std::strerror(error)),
              "make it readable, or name it in .slipwayignore");
}

std::string_view kind_of(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISBLK(mode) || S_ISCHR(mode)) return "a device";
  return "not a regular file";
}

class Walker {
 public:
  explicit Walker(const WalkLimits& limits) : limits_(limits) {}

  Result<Walk> walk(int folder_fd) {
    ignore_name_ = choose_ignore_name(folder_fd);
    UniqueFd root(::openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) return unreadable(errno, "folder", ".");
    SLIPWAY_TRY(enter(std::move(root), "", nullptr, 0));
    std::ranges::sort(walk_.files, {}, &FoundFile::path);
    std::ranges::sort(walk_.skipped, {}, &SkippedFile::path);
    return std::move(walk_);
  }

 private:
  static std::string choose_ignore_name(int folder_fd) {
    for (const char* name : kIgnoreFileNames) {
      struct stat status{};
      if (::fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
        return name;
    }
    return "";
  }

  Result<std::optional<IgnoreFile>> read_ignore_file(int folder_fd, const std::string& folder) const {
    if (ignore_name_.empty()) return std::nullopt;
    const std::string path = folder.empty() ? ignore_name_ : folder + "/" + ignore_name_;
    const UniqueFd file(
        ::openat(folder_fd, ignore_name_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) {
      if (errno == ENOENT || errno == ELOOP) return std::nullopt;
      return unreadable(errno, "file", path);
    }
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) return unreadable(errno, "file", path);
    if (!S_ISREG(status.st_mode)) return std::nullopt;
    std::string text(kMaxIgnoreFileBytes + 1, '\0');
    size_t size = 0;
    while (size < text.size()) {
      const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return unreadable(errno, "file", path);
      if (count == 0) break;
      size += static_cast<size_t>(count);
    }
    if (size > kMaxIgnoreFileBytes)
      return fail(ErrorCode::kTooLarge, fmt::format("the ignore file {} is larger than 1 MiB", path));
    return IgnoreFile(std::string_view(text).substr(0, size));
  }

  Status enter(UniqueFd fd, const std::string& folder, const IgnoreScope* above, int depth) {
    if (depth > kMaxDepth)
      return fail(ErrorCode::kTooLarge,
                  fmt::format("the folder {} lies more than {} levels deep", folder, kMaxDepth),
                  "name it in .slipwayignore");
    SLIPWAY_ASSIGN(auto ignore_file, read_ignore_file(fd.get(), folder));
    const IgnoreScope scope(above, folder, std::move(ignore_file));
    const OpenDir opened(::fdopendir(fd.get()));
    if (!opened) return unreadable(errno, "folder", folder);
    fd.release();  // the DIR has it now
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(opened.get());
      if (entry == nullptr && errno != 0) return unreadable(errno, "folder", folder);
      if (entry == nullptr) return {};
      SLIPWAY_TRY(visit(::dirfd(opened.get()), *entry, folder, scope, depth));
    }
  }

  Status visit(int folder_fd, const dirent& entry, const std::string& folder, const IgnoreScope& scope,
               int depth) {
    const std::string_view name = entry.d_name;
    if (name == "." || name == ".." || is_always_ignored(name)) return {};
    std::string path = folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
    struct stat status{};
    if (entry.d_type == DT_UNKNOWN && !stat_entry(folder_fd, entry, status))
      return gone_or_unreadable("file", path);
    const mode_t type =
        entry.d_type == DT_UNKNOWN ? status.st_mode : static_cast<mode_t>(DTTOIF(entry.d_type));
    if (scope.ignores(path, S_ISDIR(type))) return {};
    if (!is_utf8(name)) return skip(path, "its name is not UTF-8");
    if (name.contains('\\')) return skip(path, "its name has a backslash");
    if (path.size() > 4096) return skip(path, "its path is longer than 4096 bytes");
    if (S_ISDIR(type)) {
      UniqueFd below(::openat(folder_fd, entry.d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!below) return gone_or_unreadable("folder", path);
      return enter(std::move(below), path, &scope, depth + 1);
    }
    if (!S_ISREG(type)) return skip(path, kind_of(type));
    if (!stat_entry(folder_fd, entry, status)) return gone_or_unreadable("file", path);
    if (!S_ISREG(status.st_mode)) return skip(path, kind_of(status.st_mode));
    walk_.bytes += static_cast<uint64_t>(status.st_size);
    walk_.files.push_back({.path = std::move(path), .mode = kept_mode(status), .stat = file_stat(status)});
    return check_limits();
  }

  static bool stat_entry(int folder_fd, const dirent& entry, struct stat& status) {
    return ::fstatat(folder_fd, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
  }

  // By errno. What is gone since its folder was listed is no part of the snapshot.
  static Status gone_or_unreadable(std::string_view what, std::string_view path) {
    if (errno == ENOENT) return {};
    return unreadable(errno, what, path);
  }

  Status skip(std::string path, std::string_view why) {
    walk_.skipped.push_back({.path = as_text(std::move(path)), .why = std::string(why)});
    if (walk_.skipped.size() > kMaxEntries)
      return fail(ErrorCode::kTooLarge,
                  fmt::format("the folder has more than {} links and other files that are no "
                              "regular files",
                              kMaxEntries));
    return {};
  }

  Status check_limits() {
    if (walk_.bytes <= limits_.bytes && walk_.files.size() <= limits_.files) return {};
    const bool too_many = walk_.files.size() > limits_.files;
    std::string message = too_many
                              ? fmt::format("the folder has more than {} files", limits_.files)
                              : fmt::format("the folder has more than {} of files", size_text(limits_.bytes));
    return fail(ErrorCode::kTooLarge, message + (too_many ? fullest_folders() : largest_files()),
                "name what a run does not need in .slipwayignore");
  }

  std::string largest_files() {
    const size_t count = std::min<size_t>(5, walk_.files.size());
    std::ranges::partial_sort(walk_.files, walk_.files.begin() + static_cast<ptrdiff_t>(count),
                              std::greater(), [](const FoundFile& file) { return file.stat.size; });
    std::string text = "; the largest found so far: ";
    for (size_t i = 0; i < count; ++i)
      text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", walk_.files[i].path,
                          size_text(walk_.files[i].stat.size));
    return text;
  }

  std::string fullest_folders() const {
    std::map<std::string_view, size_t> counts;
    for (const FoundFile& file : walk_.files) {
      const size_t slash = file.path.find('/');
      if (slash != std::string::npos) ++counts[std::string_view(file.path).substr(0, slash)];
    }
    std::vector<std::pair<std::string_view, size_t>> folders(counts.begin(), counts.end());
    std::ranges::sort(folders, std::greater(), [](const auto& folder) { return folder.second; });
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(5, folders.size()); ++i)
      text += fmt::format("{}{}/ ({} files)", i == 0 ? "; the fullest folders so far: " : ", ",
                          folders[i].first, folders[i].second);
    return text;
  }

  WalkLimits limits_;
  std::string ignore_name_;
  Walk walk_;
};

}  // namespace

FileStat file_stat(const struct stat& status) {
  constexpr int64_t kSecond = 1'000'000'000;
  return {.size = static_cast<uint64_t>(status.st_size),
          .mtime_ns = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec,
          .ctime_ns = status.st_ctim.tv_sec * kSecond + status.st_ctim.tv_nsec,
          .inode = status.st_ino};
}

int kept_mode(const struct stat& status) {
  return (status.st_mode & S_IXUSR) != 0 ? 0755 : 0644;
}

Result<UniqueFd> open_source(const std::filesystem::path& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) return fd;
  const int error = errno;
  if (error == ENOENT)
    return fail(ErrorCode::kInvalidArgument, fmt::format("there is no folder {}", folder.string()),
                "name the folder of your code with --source");
  if (error == ENOTDIR)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not a folder", folder.string()),
                "name the folder of your code with --source");
  return unreadable(error, "folder", folder.string());
}

Result<Walk> walk_folder(int folder_fd, const WalkLimits& limits) {
  return Walker(limits).walk(folder_fd);
}

}  // namespace slipway::snapshot

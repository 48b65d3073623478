#include "node/agent_output_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "base/utf8.h"

namespace slipway::node {
namespace {

constexpr int kMaxDepth = 64;
constexpr size_t kMaxFiles = 1'000'000;
constexpr size_t kMaxSkipped = 1000;

std::string readable(std::string_view path) {
  if (is_utf8(path)) return std::string(path);
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", byte);
    }
  }
  return text;
}

int64_t nanos(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileStamp stamp_of(const struct stat& status) {
  return {.size = static_cast<uint64_t>(status.st_size),
          .inode = status.st_ino,
          .modified_nanos = nanos(status.st_mtim),
          .changed_nanos = nanos(status.st_ctim)};
}

std::string_view kind_of(mode_t mode) {
  if (S_ISLNK(mode)) return "it is a symbolic link";
  if (S_ISFIFO(mode)) return "it is a FIFO";
  if (S_ISSOCK(mode)) return "it is a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "it is a device";
  return "it is not a regular file";
}

class Walk {
 public:
  FoundOutputs run(int work_fd, const std::string& folder) {
    enter(work_fd, folder, folder, 0);
    std::ranges::sort(found_.files, {}, &FoundFile::path);
    if (left_out_ > 0)
      found_.skipped.push_back(
          {"...", fmt::format("{} more were skipped for reasons like these", left_out_)});
    return std::move(found_);
  }

 private:
  void skip(std::string_view path, std::string_view why) {
    if (found_.skipped.size() < kMaxSkipped) {
      found_.skipped.push_back({readable(path), std::string(why)});
    } else {
      ++left_out_;
    }
  }

  void enter(int parent, const std::string& name, const std::string& path, int depth) {
    if (depth > kMaxDepth) return skip(path, fmt::format("it is nested deeper than {} folders", kMaxDepth));
    const int fd = ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
      if (errno != ENOENT) skip(path, fmt::format("the folder cannot be read: {}", std::strerror(errno)));
      return;
    }
    DIR* list = ::fdopendir(fd);
    while (const dirent* entry = ::readdir(list)) {
      const std::string child = entry->d_name;
      if (child != "." && child != "..") look_at(fd, child, fmt::format("{}/{}", path, child), depth);
    }
    ::closedir(list);
  }

  void look_at(int folder, const std::string& name, const std::string& path, int depth) {
    struct stat status{};
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;  // it has gone again
    if (S_ISDIR(status.st_mode)) return enter(folder, name, path, depth + 1);
    if (!S_ISREG(status.st_mode)) return skip(path, kind_of(status.st_mode));
    if (!is_utf8(path)) return skip(path, "its name is not UTF-8");
    if (!is_clean_relative_path(path)) return skip(path, "its path is too long or holds a backslash");
    if (found_.files.size() >= kMaxFiles)
      return skip(path, fmt::format("there are more than {} files", kMaxFiles));
    found_.files.push_back(
        {.path = path, .mode = static_cast<int>(status.st_mode & 0777U), .stamp = stamp_of(status)});
  }

  FoundOutputs found_;
  size_t left_out_ = 0;
};

}  // namespace

FoundOutputs walk_outputs(int work_fd, const std::string& folder) {
  return Walk().run(work_fd, folder);
}

Result<OpenedFile> open_output(int work_fd, const std::string& path) {
  if (!is_utf8(path)) return fail(ErrorCode::kInvalidArgument, "its name is not UTF-8");
  // Not blocking: the name may be a FIFO's by now.
  auto fd = open_beneath(work_fd, path, O_RDONLY | O_NONBLOCK);
  if (!fd) return fail(std::move(fd).error());
  struct stat status{};
  if (::fstat(fd->get(), &status) != 0) return fail(errno_error(errno, fmt::format("look at {}", path)));
  if (!S_ISREG(status.st_mode))
    return fail(ErrorCode::kInvalidArgument, std::string(kind_of(status.st_mode)));
  return OpenedFile{
      .fd = std::move(*fd),
      .file = {.path = path, .mode = static_cast<int>(status.st_mode & 0777U), .stamp = stamp_of(status)}};
}

}  // namespace slipway::node

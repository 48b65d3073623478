#include "node/supervisor_logs.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/utf8.h"

namespace slipway::node {
namespace {

constexpr size_t kBuffer = JournalFeed::kMaxChunk;
constexpr int kMaxDepth = 16;
constexpr uint32_t kEvents = IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::string join(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

// Opens what is below `folder` without following a link or waiting for a FIFO's writer.
UniqueFd open_below(int folder, const std::string& path, int flags) {
  auto fd = open_beneath(folder, path, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  return fd ? std::move(*fd) : UniqueFd();
}

}  // namespace

std::string log_stream_name(std::string_view path) {
  std::string name = "logs/";
  while (!path.empty()) {
    const Utf8 character = decode_utf8(path);
    const char c = path.front();
    const bool plain =
        character.valid && static_cast<unsigned char>(c) >= 0x20 && c != 0x7f && c != '\\' && c != '%';
    if (plain) {
      name += path.substr(0, character.size);
    } else {
      for (const char byte : path.substr(0, character.size))
        name += fmt::format("%{:02X}", static_cast<unsigned char>(byte));
    }
    path.remove_prefix(character.size);
  }
  return is_clean_relative_path(name) && name.size() <= journal::kMaxLogName ? name : "";
}

LogFollower::LogFollower(const std::filesystem::path& work, JournalFeed& feed)
    : work_(::open(work.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), feed_(feed) {}

void LogFollower::watch_with(int inotify) {
  inotify_ = inotify;
  scan();
}

void LogFollower::scan() {
  scan_needed_ = false;
  seen_.clear();
  // Opened anew each time: the job may have made it only now, or another in its place.
  logs_ = open_below(work_.get(), "logs", O_DIRECTORY);
  if (logs_) scan_folder("", 0);
  std::erase_if(files_, [this](const auto& item) { return !seen_.contains(item.first); });
  std::erase_if(unread_, [this](const FileId& id) { return !files_.contains(id); });
}

void LogFollower::scan_folder(const std::string& path, int depth) {
  UniqueFd fd = path.empty() ? open_below(work_.get(), "logs", O_DIRECTORY)
                             : open_below(logs_.get(), path, O_DIRECTORY);
  if (!fd) return;
  // The watch comes before the look, so that what appears meanwhile is seen by one of the two.
  if (inotify_ >= 0 && folders_.size() < kMaxFolders) {
    const int watch =
        ::inotify_add_watch(inotify_, fmt::format("/proc/self/fd/{}", fd.get()).c_str(), kEvents);
    if (watch >= 0) folders_[watch] = path;
  }
  const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(fd.release()));
  if (!folder) return;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (entry->d_type == DT_DIR) {
      if (depth < kMaxDepth) scan_folder(join(path, name), depth + 1);
    } else if (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN) {
      look_at(join(path, name));
    }
  }
}

void LogFollower::look_at(const std::string& path) {
  struct stat info{};
  if (::fstatat(logs_.get(), path.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) return;
  const FileId id{info.st_dev, info.st_ino};
  auto found = files_.find(id);
  if (found == files_.end()) {
    std::string stream = log_stream_name(path);
    if (stream.empty()) return;
    if (files_.size() >= kMaxFiles) {
      if (!std::exchange(too_many_said_, true))
        feed_.dropped("logs", static_cast<uint64_t>(std::max<off_t>(info.st_size, 1)),
                      fmt::format("only {} files below ./logs are followed", kMaxFiles));
      return;
    }
    found = files_.emplace(id, File{.path = path, .stream = std::move(stream), .position = 0}).first;
  }
  seen_.insert(id);
  File& file = found->second;
  file.path = path;
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size < file.position) file.position = 0;  // truncated: what stands there now is new
  if (size > file.position) unread_.insert(id);
}

void LogFollower::forget(const std::string& path) {
  const auto found = std::ranges::find_if(files_, [&](const auto& item) { return item.second.path == path; });
  if (found == files_.end()) return;
  unread_.erase(found->first);
  files_.erase(found);
}

void LogFollower::on_event(int watch, uint32_t mask, std::string_view name) {
  if ((mask & IN_Q_OVERFLOW) != 0) scan_needed_ = true;
  const auto folder = folders_.find(watch);
  if (folder == folders_.end()) return;
  if ((mask & IN_IGNORED) != 0) {
    folders_.erase(folder);
  } else if ((mask & IN_ISDIR) != 0) {
    scan_needed_ = true;
  } else if ((mask & IN_DELETE) != 0) {
    // Its inode may be given to another file.
    forget(join(folder->second, name));
  } else if ((mask & (IN_CREATE | IN_MODIFY | IN_MOVED_TO)) != 0) {
    look_at(join(folder->second, name));
  }
}

bool LogFollower::read() {
  if (scan_needed_) scan();
  if (!buffer_ && !unread_.empty()) buffer_ = std::make_unique_for_overwrite<char[]>(kBuffer);
  buffer_used_ = 0;
  while (!unread_.empty() && buffer_used_ < kBuffer) {
    const FileId id = *unread_.begin();
    const auto found = files_.find(id);
    if (found == files_.end() || !read_file(id, found->second)) unread_.erase(id);
  }
  return !unread_.empty();
}

bool LogFollower::read_file(const FileId& id, File& file) {
  const UniqueFd fd = open_below(logs_.get(), file.path, 0);
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || FileId{info.st_dev, info.st_ino} != id) {
    // Renamed or replaced since the last look; the next one sorts it out.
    scan_needed_ = scan_needed_ || fd;
    return false;
  }
  const ssize_t count = ::pread(fd.get(), buffer_.get() + buffer_used_, kBuffer - buffer_used_,
                                static_cast<off_t>(file.position));
  if (count <= 0) return false;
  const auto size = static_cast<size_t>(count);
  feed_.log(file.stream, journal::Channel::kNone, {buffer_.get() + buffer_used_, size});
  buffer_used_ += size;
  file.position += size;
  return true;
}

}  // namespace slipway::node

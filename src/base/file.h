// Files of our own: read whole, replaced atomically, locked for a lifetime. Paths here are chosen by Slipway,
// never by a client; names from outside are opened with open_beneath.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace slipway {

// The whole content; kTooLarge beyond `limit`, kNotFound when there is no such file.
Result<std::string> read_file(const std::filesystem::path& path, size_t limit = 64 << 20);

// Writes aside, syncs, renames and syncs the folder: after a crash the old or the new content is there whole.
Status replace_file(const std::filesystem::path& path, std::string_view content, mode_t mode = 0600);

// Creates the folder and its parents, 0700.
Status make_folders(const std::filesystem::path& path);

// Opens a file for writing in a folder that may have been removed since it was made: then it is made again.
Result<UniqueFd> open_in_own_folder(const std::filesystem::path& path, int flags);

Status write_all(int fd, std::string_view bytes);
Status sync_folder(const std::filesystem::path& folder);

// Opens `relative` below `folder` with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS): "..", absolute paths
// and links out of the folder fail. Falls back to a check of each component where the kernel lacks the call.
Result<UniqueFd> open_beneath(int folder_fd, std::string_view relative, int flags, mode_t mode = 0600);

// Opens the folder `relative` below `folder` ("" is that itself), creating what is missing with 0755; links
// are not followed.
Result<UniqueFd> make_folders_beneath(int folder_fd, std::string_view relative);

// True when `path` is relative, has no empty, "." or ".." component, no NUL and no backslash, and each
// component has at most 255 bytes: a logical path that may become a file below a folder of ours.
bool is_clean_relative_path(std::string_view path);

// When that process was started, in clock ticks since boot; nullopt: there is none.
std::optional<uint64_t> process_start_ticks(pid_t pid);

// An exclusive lock held until destruction or the process's death, however it dies.
class FileLock {
 public:
  // The process that took it: the pid counts only together with the start time, since pids are used again.
  struct Holder {
    pid_t pid = 0;
    uint64_t start_ticks = 0;  // of the process, as in /proc/<pid>/stat
    bool operator==(const Holder&) const = default;
  };

  // nullopt: another process holds it. Writes the holder into the file.
  static Result<std::optional<FileLock>> try_take(const std::filesystem::path& path);
  // Whether some process holds it now. Takes nothing: a `try_take` at the same moment is not disturbed.
  static bool is_held(const std::filesystem::path& path);
  // Who holds it: nullopt when nobody does, or when the process that took it is not there (any more, or yet).
  static std::optional<Holder> holder(const std::filesystem::path& path);
  int fd() const { return fd_.get(); }

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace slipway

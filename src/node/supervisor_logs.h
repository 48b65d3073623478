// Follows the log files a job writes below ./logs: they appear, grow, are truncated, renamed and removed
// while the job runs, and every byte that was seen goes to the stream of the name its file first had.
//
// A file is known by device and inode, so that one that is rotated away is not sent twice. inotify only says
// where to look; a look at everything, now and then and at the end, finds what it missed. Links, FIFOs and
// devices are not followed. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "node/supervisor_feed.h"

namespace slipway::node {

class LogFollower {
 public:
  static constexpr size_t kMaxFiles = 1000;
  static constexpr size_t kMaxFolders = 256;

  // `feed` outlives this.
  LogFollower(const std::filesystem::path& work, JournalFeed& feed);
  // From now on events come through the supervisor's own inotify; until then only scans find anything.
  void watch_with(int inotify);

  // Looks at everything below ./logs and remembers what there is to read.
  void scan();
  // An event of a watch that is not the supervisor's own.
  void on_event(int watch, uint32_t mask, std::string_view name);
  // Reads up to about a megabyte into the feed, which must be flushed before the next call. True: there is
  // more.
  bool read();
  bool has_unread() const { return scan_needed_ || !unread_.empty(); }

 private:
  using FileId = std::pair<dev_t, ino_t>;
  struct File {
    std::string path;    // below ./logs, now
    std::string stream;  // "logs/" and the name it had first
    uint64_t position = 0;
  };

  void scan_folder(const std::string& path, int depth);
  void look_at(const std::string& path);
  void forget(const std::string& path);
  // False: nothing more to read in this file.
  bool read_file(const FileId& id, File& file);

  UniqueFd work_;
  UniqueFd logs_;
  int inotify_ = -1;
  JournalFeed& feed_;
  std::map<int, std::string> folders_;  // by watch
  std::map<FileId, File> files_;
  std::set<FileId> unread_;
  std::set<FileId> seen_;  // by the scan that is under way
  bool scan_needed_ = false;
  bool too_many_said_ = false;
  std::unique_ptr<char[]> buffer_;
  size_t buffer_used_ = 0;
};

// The name of the stream of `path` below ./logs: bytes that are not UTF-8, control characters, '%' and '\'
// stand as %XX, so that it is text and a clean path. Empty: no stream can have that name.
std::string log_stream_name(std::string_view path);

}  // namespace slipway::node

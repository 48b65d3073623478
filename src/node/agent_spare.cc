#include "node/agent_spare.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>

#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "launch/plan.h"
#include "node/agent_folder.h"

namespace slipway::node {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMostReady = 64;
constexpr std::array<const char*, 4> kFolders = {"journal", "work", "work/outputs", "work/logs"};
// What agent and supervisor have written beside those. The lock stays: it is free, and its holder is written
// anew.
constexpr std::array<const char*, 7> kFiles = {"spec.json", "finished", "cancel.json", "keep",
                                               "group",     "run.sock", "shipped"};

constexpr std::array<const char*, 6> kEnvironment = {"environment/upper",      "environment/work/work",
                                                     "environment/work/index", "environment/work",
                                                     "environment/root",       "environment"};

// What is in the folder is exactly this; anything odd says no.
bool holds_only(const fs::path& folder, const std::set<std::string>& names) {
  struct stat status{};
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || (status.st_mode & 0777U) != 0700U)
    return false;
  std::error_code error;
  size_t found = 0;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (!names.contains(entry->path().filename().native())) return false;
    ++found;
  }
  return !error && found == names.size();
}

// True: the folder is as `make` leaves it, but for the lock.
bool empty_of_traces(const fs::path& folder) {
  if (!holds_only(folder / "work", {"outputs", "logs"}) || !holds_only(folder / "work/outputs", {}) ||
      !holds_only(folder / "work/logs", {}))
    return false;
  for (const char* name : kFiles) ::unlink((folder / name).c_str());
  // Of an environment of which the job has changed nothing.
  for (const char* name : kEnvironment) ::rmdir((folder / name).c_str());
  std::error_code error;
  for (const fs::directory_entry& segment : fs::directory_iterator(folder / "journal", error))
    ::unlink(segment.path().c_str());
  return holds_only(folder / "journal", {}) && holds_only(folder, {"journal", "work", "lock"});
}

}  // namespace

AttemptFolders::AttemptFolders(fs::path spare) : spare_(std::move(spare)) {
  if (Status removed = remove_folder(spare_); !removed)
    log_warning("agent.spare_kept", {{"folder", spare_.string()}, {"error", removed.error()}});
  if (::mkdir(spare_.c_str(), 0700) != 0 && errno != EEXIST)
    log_warning("agent.no_spare", {{"folder", spare_.string()}, {"error", errno_error(errno, "create it")}});
}

Status AttemptFolders::make(const fs::path& folder) {
  if (reuse(folder)) return {};
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(errno_error(errno, fmt::format("create {}", folder.string())));
  for (const char* name : kFolders) {
    if (::mkdir((folder / name).c_str(), 0700) != 0 && errno != EEXIST)
      return fail(errno_error(errno, fmt::format("create {}", (folder / name).string())));
  }
  return {};
}

bool AttemptFolders::reuse(const fs::path& folder) {
  const std::lock_guard lock(mutex_);
  if (ready_.empty()) return false;
  const fs::path spare = std::move(ready_.back());
  ready_.pop_back();
  // Never over a folder that is there: it may hold an attempt's journal.
  return ::renameat2(AT_FDCWD, spare.c_str(), AT_FDCWD, folder.c_str(), RENAME_NOREPLACE) == 0;
}

Status AttemptFolders::remove(const fs::path& folder) {
  // Should the renaming fail, this says that the attempt is over. No new file where there is an old one to
  // rename.
  if (::rename((folder / "spec.json").c_str(), (folder / "finished").c_str()) != 0)
    UniqueFd(::open((folder / "finished").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const fs::path socket = launch::socket_path(folder);
  if (socket.parent_path() != folder) ::unlink(socket.c_str());
  fs::path spare;
  {
    const std::lock_guard lock(mutex_);
    spare = spare_ / std::to_string(next_name_++);
  }
  if (::rename(folder.c_str(), spare.c_str()) != 0) return errno == ENOENT ? Status() : remove_folder(folder);
  if (empty_of_traces(spare)) {
    const std::lock_guard lock(mutex_);
    if (ready_.size() < kMostReady) {
      ready_.push_back(std::move(spare));
      return {};
    }
  }
  return remove_folder(spare);
}

}  // namespace slipway::node

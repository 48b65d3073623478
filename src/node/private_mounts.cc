#include "node/private_mounts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/fd.h"
#include "base/file.h"

namespace slipway::node {
namespace fs = std::filesystem;
namespace {

Status write_map(const char* file, std::string_view text) {
  const UniqueFd fd(::open(file, O_WRONLY | O_CLOEXEC));
  if (!fd) return fail(errno_error(errno, fmt::format("open {}", file)));
  return write_all(fd.get(), text);
}

// Without root: in a user namespace this process may mount, and is otherwise the same user to everybody.
Status enter_user_namespace() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return fail(errno_error(errno, "enter a user namespace of its own"));
  SLIPWAY_TRY(write_map("/proc/self/setgroups", "deny"));
  SLIPWAY_TRY(write_map("/proc/self/uid_map", fmt::format("{0} {0} 1", user)));
  return write_map("/proc/self/gid_map", fmt::format("{0} {0} 1", group));
}

// Commas part the options of a mount and colons its lower folders.
std::string escaped(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (c == ',' || c == ':' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

Status lay_over(const launch::Overlay& overlay, const std::string& mount, bool as_root) {
  const std::string options =
      fmt::format("lowerdir={},upperdir={},workdir={}{}", escaped(overlay.folder), escaped(overlay.upper),
                  escaped(overlay.work), as_root ? "" : ",userxattr");
  if (::mount("overlay", mount.c_str(), "overlay", 0, options.c_str()) != 0)
    return fail(errno_error(errno, fmt::format("lay a private copy over {}", overlay.folder)));
  return {};
}

// Resolves links of the image within the image: it may hold any.
UniqueFd open_inside(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

// The place at `path` within the root, made where it is missing: a folder, or a file for `file`.
Result<UniqueFd> place_inside(int root, const fs::path& path, bool file) {
  fs::path made;
  for (const fs::path& part : path.relative_path()) {
    const fs::path parent = made;
    made /= part;
    if (open_inside(root, made.string(), O_PATH)) continue;
    const UniqueFd above = open_inside(root, parent.empty() ? "." : parent.string(), O_RDONLY | O_DIRECTORY);
    if (file && made == path.relative_path()) {
      const UniqueFd empty(
          ::openat(above.get(), part.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    } else {
      ::mkdirat(above.get(), part.c_str(), 0755);
    }
  }
  UniqueFd place = open_inside(root, path.relative_path().string(), O_PATH);
  if (!place) return fail(errno_error(errno, fmt::format("make {} within the image", path.string())));
  return place;
}

Status bind_inside(int root, const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  SLIPWAY_ASSIGN(const UniqueFd place, place_inside(root, path, !S_ISDIR(status.st_mode)));
  const std::string target = fmt::format("/proc/self/fd/{}", place.get());
  if (::mount(path.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return fail(errno_error(errno, fmt::format("show {} within the image", path.string())));
  return {};
}

Status put_together(const launch::Root& root, bool as_root) {
  SLIPWAY_TRY(lay_over(root.files, root.mount, as_root));
  const UniqueFd top(::open(root.mount.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return fail(errno_error(errno, fmt::format("open {}", root.mount)));
  for (const char* path : {"/proc", "/sys", "/dev", "/etc/resolv.conf", "/etc/hosts"})
    SLIPWAY_TRY(bind_inside(top.get(), path));
  const std::string shm = root.mount + "/dev/shm";
  const std::string size =
      root.shm_bytes > 0 ? fmt::format("mode=1777,size={}", root.shm_bytes) : "mode=1777";
  if (::mount("tmpfs", shm.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, size.c_str()) != 0)
    return fail(errno_error(errno, "give the image shared memory of its own"));
  for (const std::string& path : root.binds) SLIPWAY_TRY(bind_inside(top.get(), path));
  return {};
}

int try_in_child(const fs::path& trial) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Status done = enter_private_mounts({{.folder = (trial / "lower").string(),
                                               .upper = (trial / "upper").string(),
                                               .work = (trial / "work").string()}});
    ::_exit(done ? 0 : 1);
  }
  int status = -1;
  if (child > 0)
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  return status;
}

}  // namespace

Status enter_private_mounts(const std::vector<launch::Overlay>& overlays,
                            const std::optional<launch::Root>& root) {
  const bool as_root = ::unshare(CLONE_NEWNS) == 0;
  if (!as_root) SLIPWAY_TRY(enter_user_namespace());
  // What is mounted elsewhere still comes in; what is mounted here does not go out.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return fail(errno_error(errno, "keep mounts private"));
  for (const launch::Overlay& overlay : overlays) SLIPWAY_TRY(lay_over(overlay, overlay.folder, as_root));
  if (root) SLIPWAY_TRY(put_together(*root, as_root));
  return {};
}

bool private_mounts_work(const fs::path& folder) {
  std::string name = (folder / "trial-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return false;
  const fs::path trial = name;
  for (const char* part : {"lower", "upper", "work"}) ::mkdir((trial / part).c_str(), 0700);
  const bool works = try_in_child(trial) == 0;
  std::error_code error;
  fs::remove_all(trial, error);
  return works;
}

}  // namespace slipway::node

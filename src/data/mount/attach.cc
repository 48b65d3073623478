#include "data/mount/attach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "data/mount/mount_table.h"

namespace slipway::data {
namespace {

constexpr const char* kDevice = "/dev/fuse";
constexpr const char* kHelper = "fusermount3";
constexpr size_t kReadSize = 1 << 20;
constexpr unsigned long kFlags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOATIME;

std::string kernel_options(int device) {
  return fmt::format(
      "fd={},rootmode=40555,user_id={},group_id={},max_read={},default_permissions,allow_other", device,
      ::geteuid(), ::getegid(), kReadSize);
}

// In a child that shares nothing with us but its memory's copy: system calls only.
int try_mount(const char* folder, const char* options, int device) {
  if (::unshare(CLONE_NEWNS) != 0) return errno;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  if (device < 0) return ENODEV;
  return ::mount("slipway", folder, "fuse.slipway", kFlags, options) == 0 ? 0 : errno;
}

bool has_helper() {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (::access(fmt::format("{}/{}", folder, kHelper).c_str(), X_OK) == 0) return true;
  }
  return false;
}

Result<UniqueFd> receive_device(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS)
    return fail(ErrorCode::kUnsupported, "fusermount3 could not mount it",
                "see whether /dev/fuse is there and users may mount (/etc/fuse.conf)");
  int device = -1;
  std::memcpy(&device, CMSG_DATA(header), sizeof device);
  return UniqueFd(device);
}

}  // namespace

Result<MountWay> find_mount_way(const std::filesystem::path& some_folder) {
  const UniqueFd device(::open(kDevice, O_RDWR | O_CLOEXEC));
  const int no_device = device ? 0 : errno;
  const std::string options = kernel_options(device.get());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(try_mount(some_folder.c_str(), options.c_str(), device.get()));
  int status = -1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return MountWay::kPrivileged;
  if (no_device == ENOENT || no_device == ENODEV || no_device == ENXIO)
    return fail(ErrorCode::kUnsupported, "this machine has no /dev/fuse", "modprobe fuse");
  if (::geteuid() != 0 && has_helper()) return MountWay::kHelped;
  const int why = no_device != 0 ? no_device : WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
  return fail(ErrorCode::kUnsupported, fmt::format("mounting is not permitted here ({})", std::strerror(why)),
              "install fuse3, or give the node the right to mount");
}

Result<Mounted> Mounted::mount(const std::filesystem::path& at, std::string_view source, MountWay way) {
  Mounted mounted(at, way);
  SLIPWAY_TRY(way == MountWay::kPrivileged ? mounted.mount_by_ourselves(source)
                                           : mounted.mount_helped(source));
  return mounted;
}

Mounted::Mounted(Mounted&& other) noexcept
    : at_(std::exchange(other.at_, {})),
      way_(other.way_),
      device_(std::move(other.device_)),
      helper_(std::move(other.helper_)) {}

Mounted::~Mounted() {
  unmount();
}

Status Mounted::mount_by_ourselves(std::string_view source) {
  device_ = UniqueFd(::open(kDevice, O_RDWR | O_CLOEXEC));
  if (!device_) return fail(errno_error(errno, "open /dev/fuse"));
  const std::string name(source);
  if (::mount(name.c_str(), at_.c_str(), "fuse.slipway", kFlags, kernel_options(device_.get()).c_str()) == 0)
    return {};
  const int error = errno;
  const std::string place = std::exchange(at_, {}).string();
  return fail(errno_error(error, fmt::format("mount on {}", place)));
}

Status Mounted::mount_helped(std::string_view source) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(errno_error(errno, "make a socket"));
  helper_ = UniqueFd(ends[0]);
  UniqueFd theirs(ends[1]);
  std::string place = std::exchange(at_, {}).string();
  std::string program = kHelper;
  std::string option = "-o";
  std::string options =
      fmt::format("ro,nosuid,nodev,auto_unmount,max_read={},subtype=slipway,fsname={}", kReadSize, source);
  std::string dashes = "--";
  char* arguments[] = {program.data(), option.data(), options.data(), dashes.data(), place.data(), nullptr};
  std::string socket = "_FUSE_COMMFD=3";
  std::string path =
      fmt::format("PATH={}", std::getenv("PATH") != nullptr ? std::getenv("PATH") : "/usr/bin:/bin");
  char* environment[] = {socket.data(), path.data(), nullptr};
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, theirs.get(), 3);
  ::posix_spawn_file_actions_addclosefrom_np(&files, 4);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, kHelper, &files, nullptr, arguments, environment);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) return fail(errno_error(error, "start fusermount3"));
  theirs.reset();
  SLIPWAY_ASSIGN(device_, receive_device(helper_.get()));
  at_ = place;
  return {};
}

void Mounted::widen_read_ahead() const {
  struct stat status{};
  if (::stat(at_.c_str(), &status) != 0) return;
  const std::string path =
      fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(status.st_dev), minor(status.st_dev));
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const Status written = file ? write_all(file.get(), fmt::format("{}\n", kReadSize >> 10)) : Status();
  if (!file || !written) log_debug("mount.read_ahead", {{"path", path}, {"error", std::strerror(errno)}});
}

void Mounted::unmount() {
  helper_.reset();
  const std::filesystem::path at = std::exchange(at_, {});
  if (at.empty() || way_ == MountWay::kHelped) return;
  if (::umount2(at.c_str(), 0) != 0) ::umount2(at.c_str(), MNT_DETACH);
}

void detach_dead_mounts(const std::filesystem::path& below) {
  for (const std::filesystem::path& place : own_mounts_below(below)) {
    if (::umount2(place.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
      log_info("mount.detached", {{"at", place.string()}});
  }
}

Status enter_private_mounts() {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return fail(ErrorCode::kPermissionDenied,
                fmt::format("no mounts of one's own are allowed here: {}", std::strerror(errno)));
  return {};
}

}  // namespace slipway::data

#include "data/mount/attach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/subprocess.h"
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

std::filesystem::path find_helper() {
  const char* path = std::getenv("PATH");
  return find_on_path(kHelper, path != nullptr ? path : "/usr/bin:/bin");
}

// Runs in a process of its own from fork on, with system calls alone: waits for the end of everybody who
// holds the other end of the pipe, then unmounts.
[[noreturn]] void guard(int pipe, const char* helper, char* const* arguments) {
  ::setsid();
  ::dup2(pipe, 0);
  ::syscall(SYS_close_range, 3U, ~0U, 0);
  char byte = 0;
  ssize_t count = 0;
  do {
    count = ::read(0, &byte, 1);
  } while (count > 0 || (count < 0 && errno == EINTR));
  char* const environment[] = {nullptr};
  ::execve(helper, arguments, environment);
  ::_exit(1);
}

// fusermount3 has an option for this (auto_unmount), which was seen to leave mounts behind. The guard is
// nobody's child, so that who mounts has none to reap. Gives the end of the pipe whose closing it waits for.
Result<UniqueFd> start_guard(const std::filesystem::path& helper, const std::string& place) {
  std::vector<std::string> words{kHelper, "-u", "-z", "-q", "--", place};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errno_error(errno, "make a pipe"));
  const UniqueFd theirs(ends[0]);
  UniqueFd ours(ends[1]);
  const pid_t between = ::fork();
  if (between < 0) return fail(errno_error(errno, "start the guard of a mount"));
  if (between == 0) {
    if (::fork() == 0) guard(theirs.get(), helper.c_str(), arguments.data());
    ::_exit(0);
  }
  while (::waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  return ours;
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
  if (::geteuid() != 0 && !find_helper().empty()) return MountWay::kHelped;
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
      guard_(std::move(other.guard_)) {}

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
  const std::string place = std::exchange(at_, {}).string();
  const std::filesystem::path helper = find_helper();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(errno_error(errno, "make a socket"));
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  // Its standard input is where it sends the connection to.
  SLIPWAY_ASSIGN(
      const pid_t pid,
      spawn_program({.program = helper,
                     .arguments = {kHelper, "-o",
                                   fmt::format("ro,nosuid,nodev,max_read={},subtype=slipway,fsname={}",
                                               kReadSize, source),
                                   "--", place},
                     .environment = {"_FUSE_COMMFD=0"},
                     .folder = {},
                     .in = theirs.get(),
                     .err = STDERR_FILENO}));
  theirs.reset();
  auto device = receive_device(ours.get());
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!device) return fail(std::move(device).error());
  device_ = std::move(*device);
  at_ = place;
  SLIPWAY_ASSIGN(guard_, start_guard(helper, place));
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
  const std::filesystem::path at = std::exchange(at_, {});
  if (!at.empty() && way_ == MountWay::kHelped) {
    (void)run_program({.program = find_helper(),
                       .arguments = {"-u", "-z", "-q", "--", at.string()},
                       .environment = {},
                       .folder = {},
                       .wanted = {},
                       .on_line = {}});
  } else if (!at.empty() && ::umount2(at.c_str(), 0) != 0) {
    ::umount2(at.c_str(), MNT_DETACH);
  }
  guard_.reset();
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

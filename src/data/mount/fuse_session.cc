#include "data/mount/fuse_session.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <thread>

#include "base/log.h"
#include "data/mount/fuse_newer.h"

namespace slipway::data {
namespace {

constexpr size_t kThreads = 8;
constexpr size_t kLargestRequest = 128 << 10;  // names and attributes: nothing is ever written
constexpr size_t kLargestRead = 1 << 20;
constexpr uint64_t kForever = 365ULL * 24 * 3600;
constexpr uint64_t kLargeFile = 8 << 20;
constexpr uint64_t kDots = 2;    // "." and ".." stand before the children
constexpr uint64_t kPassed = 1;  // handle of a file that is open for passthrough

template <class T>
T read_struct(std::string_view body) {
  T value{};
  body.copy(reinterpret_cast<char*>(&value), sizeof value);
  return value;
}

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

bool large_files_prevail(const MountTree& tree, const LazyFiles& files) {
  uint64_t large = 0;
  uint64_t all = 0;
  for (uint64_t node = MountTree::kRoot; tree.contains(node); ++node) {
    if (tree.is_folder(node)) continue;
    const uint64_t size = files.file(tree.file(node)).size;
    all += size;
    if (size >= kLargeFile) large += size;
  }
  return large > all / 2;
}

int errno_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kStorageFull: return ENOSPC;
    case ErrorCode::kTimeout: return ETIMEDOUT;
    case ErrorCode::kPermissionDenied:
    case ErrorCode::kUnauthenticated: return EACCES;
    default: return EIO;
  }
}

}  // namespace

struct FuseSession::Buffers {
  std::unique_ptr<char[]> in = std::make_unique_for_overwrite<char[]>(kLargestRequest);
  std::unique_ptr<char[]> out = std::make_unique_for_overwrite<char[]>(kLargestRead);
};

FuseSession::FuseSession(UniqueFd device, const MountTree& tree, LazyFiles& files)
    : device_(std::move(device)),
      tree_(tree),
      files_(files),
      mounted_at_(static_cast<uint64_t>(std::time(nullptr))),
      mostly_large_(large_files_prevail(tree, files)) {}

Status FuseSession::serve() {
  std::vector<std::jthread> others;
  for (size_t i = 1; i < kThreads; ++i) others.emplace_back([this] { (void)serve_one_thread(); });
  return serve_one_thread();
}

Status FuseSession::serve_one_thread() {
  Buffers buffers;
  while (true) {
    const ssize_t size = ::read(device_.get(), buffers.in.get(), kLargestRequest);
    if (size < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT)) continue;
    if (size < 0 && errno == ENODEV) return {};  // unmounted
    if (size < 0) return fail(errno_error(errno, "read the requests of a mount"));
    if (size == 0) return {};
    const std::string_view bytes(buffers.in.get(), static_cast<size_t>(size));
    if (bytes.size() < sizeof(fuse_in_header))
      return fail(ErrorCode::kInternal, "a torn request of the kernel");
    answer({.head = read_struct<fuse_in_header>(bytes), .body = bytes.substr(sizeof(fuse_in_header))},
           buffers);
  }
}

void FuseSession::answer(const Message& message, Buffers& buffers) {
  const uint32_t what = message.head.opcode;
  if (what == FUSE_FORGET || what == FUSE_BATCH_FORGET) return;
  if (what == FUSE_INTERRUPT) return on_interrupt(message);
  if (what == FUSE_INIT) return on_init(message);
  if (what == FUSE_DESTROY) return reply(message, {});
  if (!tree_.contains(message.head.nodeid)) return refuse(message, ENOENT);
  switch (what) {
    case FUSE_LOOKUP: return on_lookup(message);
    case FUSE_GETATTR: return on_getattr(message);
    case FUSE_OPEN: return on_open(message);
    case FUSE_RELEASE: return on_release(message);
    case FUSE_READ: return on_read(message, buffers);
    case FUSE_READDIR: return on_readdir(message, buffers, false);
    case FUSE_READDIRPLUS: return on_readdir(message, buffers, true);
    case FUSE_STATFS: return on_statfs(message);
    // ENOSYS tells the kernel not to ask again: opening a folder, flushing and the like need no message.
    default: return refuse(message, ENOSYS);
  }
}

void FuseSession::on_init(const Message& message) {
  const auto in = read_struct<fuse_init_in>(message.body);
  fuse_init_out out{};
  out.major = FUSE_KERNEL_VERSION;
  out.minor = std::min<uint32_t>(in.minor, fuse::kMinorWithPassthrough);
  out.max_readahead = in.max_readahead;
  constexpr uint32_t kWanted = FUSE_ASYNC_READ | FUSE_PARALLEL_DIROPS | FUSE_DO_READDIRPLUS |
                               FUSE_READDIRPLUS_AUTO | FUSE_MAX_PAGES | FUSE_NO_OPENDIR_SUPPORT |
                               FUSE_INIT_EXT;
  out.flags = in.flags & kWanted;
  out.max_background = 64;
  out.congestion_threshold = 48;
  out.max_write = 4096;
  out.time_gran = 1;
  out.max_pages = kLargestRead / 4096;
  if (mostly_large_ && (in.flags & FUSE_INIT_EXT) != 0 && (in.flags2 & fuse::kInitPassthrough2) != 0 &&
      in.minor >= fuse::kMinorWithPassthrough && ::geteuid() == 0) {
    out.flags2 = fuse::kInitPassthrough2;
    out.unused[0] = 1;  // max_stack_depth: the cache lies on a disk's own file system
    passthrough_ = true;
  }
  reply(message, bytes_of(out));
}

fuse_attr FuseSession::attributes(uint64_t node) const {
  fuse_attr attr{};
  attr.ino = node;
  attr.atime = attr.mtime = attr.ctime = mounted_at_;
  attr.uid = ::geteuid();
  attr.gid = ::getegid();
  attr.blksize = 4096;
  if (tree_.is_folder(node)) {
    attr.mode = S_IFDIR | 0555;
    attr.nlink = 2;
    return attr;
  }
  attr.mode = S_IFREG | 0444;
  attr.nlink = 1;
  attr.size = files_.file(tree_.file(node)).size;
  attr.blocks = (attr.size + 511) / 512;
  if (attr.size >= kLargeFile) attr.blksize = kLargestRead;
  return attr;
}

fuse_entry_out FuseSession::entry(uint64_t node) const {
  fuse_entry_out out{};
  out.nodeid = node;
  out.entry_valid = out.attr_valid = kForever;
  out.attr = attributes(node);
  return out;
}

void FuseSession::on_lookup(const Message& message) {
  const std::string_view name = message.body.substr(0, message.body.find('\0'));
  if (!tree_.is_folder(message.head.nodeid)) return refuse(message, ENOTDIR);
  const auto found = tree_.find(message.head.nodeid, name);
  if (found) return reply(message, bytes_of(entry(*found)));
  fuse_entry_out nothing{};  // node 0: known not to be there
  nothing.entry_valid = kForever;
  reply(message, bytes_of(nothing));
}

void FuseSession::on_getattr(const Message& message) {
  fuse_attr_out out{};
  out.attr_valid = kForever;
  out.attr = attributes(message.head.nodeid);
  reply(message, bytes_of(out));
}

bool FuseSession::open_passing(uint64_t node, Opened& opened) {
  if (opened.cached > 0) return false;
  if (opened.passed == 0) {
    const auto whole = files_.open_whole(tree_.file(node));
    if (!whole) return false;
    const fuse::BackingMap map{.fd = whole->get(), .flags = 0, .padding = 0};
    const int backing = ::ioctl(device_.get(), fuse::kBackingOpen, &map);
    if (backing <= 0) return false;
    opened.backing = backing;
  }
  ++opened.passed;
  return true;
}

void FuseSession::on_open(const Message& message) {
  if (!passthrough_) return refuse(message, ENOSYS);
  if (tree_.is_folder(message.head.nodeid)) return refuse(message, EISDIR);
  fuse_open_out out{};
  const std::lock_guard lock(mutex_);
  Opened& opened = opened_[message.head.nodeid];
  if (open_passing(message.head.nodeid, opened)) {
    out.fh = kPassed;
    out.open_flags = fuse::kOpenPassthrough;
    out.padding = static_cast<uint32_t>(opened.backing);
  } else {
    ++opened.cached;
    out.open_flags = FOPEN_KEEP_CACHE | FOPEN_NOFLUSH;
  }
  // Under the mutex: the kernel must learn of this opening before a release can end the backing.
  reply(message, bytes_of(out));
}

void FuseSession::on_release(const Message& message) {
  const auto in = read_struct<fuse_release_in>(message.body);
  {
    const std::lock_guard lock(mutex_);
    const auto found = opened_.find(message.head.nodeid);
    if (found != opened_.end()) {
      Opened& opened = found->second;
      uint32_t& count = in.fh == kPassed ? opened.passed : opened.cached;
      if (count > 0) --count;
      if (in.fh == kPassed && count == 0) {
        const auto backing = static_cast<uint32_t>(opened.backing);
        ::ioctl(device_.get(), fuse::kBackingClose, &backing);
      }
      if (opened.passed == 0 && opened.cached == 0) opened_.erase(found);
    }
  }
  reply(message, {});
}

void FuseSession::on_read(const Message& message, Buffers& buffers) {
  const auto in = read_struct<fuse_read_in>(message.body);
  if (tree_.is_folder(message.head.nodeid)) return refuse(message, EISDIR);
  const std::span<char> into(buffers.out.get(), std::min<size_t>(in.size, kLargestRead));
  const auto got = files_.read(tree_.file(message.head.nodeid), in.offset, into,
                               [&] { return is_interrupted(message.head.unique); });
  const bool interrupted = forget_interrupt(message.head.unique);
  if (got) return reply(message, {into.data(), *got});
  if (interrupted) return refuse(message, EINTR);
  log_warning("mount.read_failed",
              {{"file", files_.file(tree_.file(message.head.nodeid)).path}, {"error", got.error()}});
  refuse(message, errno_of(got.error()));
}

void FuseSession::on_readdir(const Message& message, Buffers& buffers, bool plus) {
  const auto in = read_struct<fuse_read_in>(message.body);
  const uint64_t folder = message.head.nodeid;
  if (!tree_.is_folder(folder)) return refuse(message, ENOTDIR);
  const size_t room = std::min<size_t>(in.size, kLargestRead);
  size_t used = 0;
  for (uint64_t index = in.offset; index < tree_.child_count(folder) + kDots; ++index) {
    const bool dot = index < kDots;
    const uint64_t node = index == 0   ? folder
                          : index == 1 ? tree_.parent(folder)
                                       : tree_.child(folder, index - kDots);
    const std::string_view name = index == 0 ? "." : index == 1 ? ".." : tree_.name(node);
    const size_t prefix = plus ? FUSE_NAME_OFFSET_DIRENTPLUS : FUSE_NAME_OFFSET;
    const size_t size = FUSE_DIRENT_ALIGN(prefix + name.size());
    if (used + size > room) break;
    char* at = buffers.out.get() + used;
    std::memset(at, 0, size);
    if (plus && !dot) {
      const fuse_entry_out out = entry(node);
      std::memcpy(at, &out, sizeof out);
    }
    fuse_dirent dirent{};
    dirent.ino = node;
    dirent.off = index + 1;
    dirent.namelen = static_cast<uint32_t>(name.size());
    dirent.type = tree_.is_folder(node) ? S_IFDIR >> 12 : S_IFREG >> 12;
    char* const entry_at = plus ? at + offsetof(fuse_direntplus, dirent) : at;
    std::memcpy(entry_at, &dirent, FUSE_NAME_OFFSET);
    std::memcpy(entry_at + FUSE_NAME_OFFSET, name.data(), name.size());
    used += size;
  }
  reply(message, {buffers.out.get(), used});
}

void FuseSession::on_statfs(const Message& message) {
  fuse_statfs_out out{};
  out.st.bsize = out.st.frsize = 4096;
  out.st.namelen = 255;
  out.st.files = tree_.size();
  reply(message, bytes_of(out));
}

void FuseSession::on_interrupt(const Message& message) {
  const auto in = read_struct<fuse_interrupt_in>(message.body);
  const std::lock_guard lock(mutex_);
  // Answers that crossed the interruption leave theirs behind: not for ever.
  if (interrupted_.size() > 1024) interrupted_.clear();
  interrupted_.insert(in.unique);
}

bool FuseSession::is_interrupted(uint64_t unique) {
  const std::lock_guard lock(mutex_);
  return interrupted_.contains(unique);
}

bool FuseSession::forget_interrupt(uint64_t unique) {
  const std::lock_guard lock(mutex_);
  return interrupted_.erase(unique) > 0;
}

void FuseSession::reply(const Message& message, std::string_view payload) const {
  fuse_out_header head{};
  head.len = static_cast<uint32_t>(sizeof head + payload.size());
  head.unique = message.head.unique;
  std::array<iovec, 2> parts{{{&head, sizeof head}, {const_cast<char*>(payload.data()), payload.size()}}};
  // An error: who asked is gone.
  (void)!::writev(device_.get(), parts.data(), payload.empty() ? 1 : 2);
}

void FuseSession::refuse(const Message& message, int error) const {
  fuse_out_header head{};
  head.len = sizeof head;
  head.error = -error;
  head.unique = message.head.unique;
  (void)!::write(device_.get(), &head, sizeof head);
}

}  // namespace slipway::data

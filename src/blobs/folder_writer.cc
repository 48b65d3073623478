#include "blobs/folder_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "base/failpoint.h"
#include "base/file.h"

namespace slipway::blobs {
namespace {

// The kernel starts to write this often, so that the sync at the end finds little left to do.
constexpr uint64_t kWriteBackBytes = 8 << 20;
constexpr size_t kReadBytes = 1 << 20;

// Opens and locks the partial file of that name. An upload that has just ended takes the name away under us:
// then the lock is on a file that is no longer there, and a new one is opened.
Result<UniqueFd> open_locked(int folder, const std::string& name) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    UniqueFd fd(::openat(folder, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd) return fail(errno_error(errno, "start an upload"));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) break;
    struct stat held{};
    struct stat named{};
    if (::fstat(fd.get(), &held) == 0 && ::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        held.st_ino == named.st_ino)
      return fd;
  }
  return fail(ErrorCode::kConflict, fmt::format("another upload of {} is running", name),
              "wait for it to end, then ask again whether it is missing");
}

}  // namespace

Result<std::unique_ptr<BlobWriter>> FolderWriter::begin(BlobFolder& folder, const Digest& expected) {
  SLIPWAY_ASSIGN(UniqueFd fd, open_locked(folder.partial(), expected.hex()));
  std::unique_ptr<FolderWriter> writer(new FolderWriter(folder, expected, std::move(fd)));
  SLIPWAY_TRY(writer->hash_what_is_held());
  return writer;
}

FolderWriter::~FolderWriter() {
  drop();
}

void FolderWriter::drop() {
  if (!fd_) return;
  // While the lock is held: the name is still ours.
  ::unlinkat(folder_.partial(), name_.c_str(), 0);
  fd_.reset();
}

Status FolderWriter::hash_what_is_held() {
  std::vector<char> buffer;
  while (true) {
    if (buffer.empty()) {
      struct stat info{};
      if (::fstat(fd_.get(), &info) == 0 && info.st_size == 0) return {};
      buffer.resize(kReadBytes);
    }
    const ssize_t count = ::read(fd_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno_error(errno, "read an interrupted upload"));
    if (count == 0) return {};
    hasher_.update({buffer.data(), static_cast<size_t>(count)});
    offset_ += static_cast<uint64_t>(count);
    written_back_ = offset_;
  }
}

Status FolderWriter::append(std::string_view bytes) {
  if (!fd_) return fail(ErrorCode::kInternal, "the upload is over");
  SLIPWAY_TRY(write_all(fd_.get(), bytes));
  hasher_.update(bytes);
  offset_ += bytes.size();
  if (offset_ - written_back_ >= kWriteBackBytes) {
    // Advice only: the sync at the end is what counts.
    (void)::sync_file_range(fd_.get(), static_cast<off_t>(written_back_),
                            static_cast<off_t>(offset_ - written_back_), SYNC_FILE_RANGE_WRITE);
    written_back_ = offset_;
  }
  return {};
}

Result<Digest> FolderWriter::finish() {
  if (!fd_) return fail(ErrorCode::kInternal, "the upload is over");
  const Digest found = hasher_.finish();
  if (found != expected_) {
    drop();
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the {} bytes received have the digest {}, not {}", offset_, found.hex(), name_),
                "send the file again from its beginning");
  }
  SLIPWAY_FAILPOINT_ERROR("blob.sync");
  if (::fdatasync(fd_.get()) != 0) return fail(errno_error(errno, "sync an upload"));
  SLIPWAY_TRY(folder_.make_folders_for({expected_}));
  SLIPWAY_TRY(folder_.publish(name_, expected_));
  // From here on the name belongs to the next upload.
  fd_.reset();
  SLIPWAY_TRY(folder_.sync_names({expected_}));
  return found;
}

}  // namespace slipway::blobs

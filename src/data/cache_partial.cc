#include "data/cache_partial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/file.h"

namespace slipway::data {
namespace {

constexpr size_t kHeader = 256;

size_t chunks_of(uint64_t size) {
  return (size + PartialFile::kChunk - 1) / PartialFile::kChunk;
}

std::string header_for(uint64_t size) {
  const auto boot = read_file("/proc/sys/kernel/random/boot_id", 256);
  std::string header = fmt::format("slipway ranges 1\nboot {}size {}\nchunk {}\n", boot.value_or("unknown\n"),
                                   size, PartialFile::kChunk);
  header.resize(kHeader, '\0');
  return header;
}

bool is_of_size(int fd, uint64_t size) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && static_cast<uint64_t>(status.st_size) == size;
}

Status begin_anew(int bytes, int record, uint64_t size, const std::string& header) {
  const auto length = static_cast<off_t>(kHeader + chunks_of(size));
  if (::ftruncate(record, 0) != 0 || ::ftruncate(bytes, 0) != 0 ||
      ::ftruncate(bytes, static_cast<off_t>(size)) != 0 || ::ftruncate(record, length) != 0 ||
      ::pwrite(record, header.data(), header.size(), 0) != static_cast<ssize_t>(header.size()))
    return fail(errno_error(errno, "begin a file of the cache"));
  // The record is written through memory, where a full disk would be a signal instead of an error.
  if (const int error = ::posix_fallocate(record, 0, length); error != 0 && error != EOPNOTSUPP)
    return fail(errno_error(error, "begin a file of the cache"));
  return {};
}

}  // namespace

PartialFile::PartialFile(UniqueFd bytes, uint64_t size, char* mapped, size_t mapped_size)
    : bytes_(std::move(bytes)),
      size_(size),
      chunks_(chunks_of(size)),
      mapped_(mapped),
      mapped_size_(mapped_size),
      claimed_(chunks_) {}

PartialFile::~PartialFile() {
  ::munmap(mapped_, mapped_size_);
}

Result<std::shared_ptr<PartialFile>> PartialFile::open(const std::filesystem::path& bytes_path,
                                                       const std::filesystem::path& record_path,
                                                       uint64_t size) {
  SLIPWAY_ASSIGN(UniqueFd bytes, open_in_own_folder(bytes_path, O_RDWR));
  SLIPWAY_ASSIGN(const UniqueFd record, open_in_own_folder(record_path, O_RDWR));
  const std::string header = header_for(size);
  const size_t mapped_size = kHeader + chunks_of(size);
  std::string found(kHeader, '\0');
  const bool known = is_of_size(record.get(), mapped_size) && is_of_size(bytes.get(), size) &&
                     ::pread(record.get(), found.data(), kHeader, 0) == ssize_t{kHeader} && found == header;
  if (!known) SLIPWAY_TRY(begin_anew(bytes.get(), record.get(), size, header));
  void* mapped = ::mmap(nullptr, mapped_size, PROT_READ | PROT_WRITE, MAP_SHARED, record.get(), 0);
  if (mapped == MAP_FAILED) return fail(errno_error(errno, fmt::format("map {}", record_path.string())));
  return std::shared_ptr<PartialFile>(
      new PartialFile(std::move(bytes), size, static_cast<char*>(mapped), mapped_size));
}

std::atomic_ref<char> PartialFile::here(size_t chunk) const {
  return std::atomic_ref<char>(mapped_[kHeader + chunk]);
}

bool PartialFile::complete() {
  const std::lock_guard lock(mutex_);
  while (first_missing_ < chunks_ && has(first_missing_)) ++first_missing_;
  return first_missing_ == chunks_;
}

Status PartialFile::write(uint64_t offset, std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(bytes_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno_error(errno, "write to the cache"));
    bytes.remove_prefix(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return {};
}

void PartialFile::mark(size_t chunk) {
  here(chunk).store(1, std::memory_order_release);
  {
    const std::lock_guard lock(mutex_);  // a waiter between its look and its sleep must not miss it
  }
  changed_.notify_all();
}

size_t PartialFile::claim(size_t first, size_t count) {
  const std::lock_guard lock(mutex_);
  size_t taken = 0;
  for (size_t chunk = first; chunk < chunks_ && taken < count && !claimed_[chunk] && !has(chunk); ++chunk) {
    claimed_[chunk] = true;
    ++taken;
  }
  return taken;
}

void PartialFile::release(size_t first, size_t count) {
  {
    const std::lock_guard lock(mutex_);
    for (size_t chunk = first; chunk < first + count; ++chunk) claimed_[chunk] = false;
  }
  changed_.notify_all();
}

bool PartialFile::wait(size_t chunk, std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, longest, [&] { return has(chunk) || !claimed_[chunk]; });
}

}  // namespace slipway::data

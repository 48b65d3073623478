#include "data/mount/lazy_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "data/fetch_batch.h"

namespace slipway::data {
namespace {

constexpr uint64_t kChunk = PartialFile::kChunk;
constexpr size_t kMaxOpen = 256;
constexpr size_t kMaxErrands = 64;
constexpr size_t kAhead = 3 * FetchBatch::kSpan;  // chunks before a reader in order
constexpr auto kLook = std::chrono::milliseconds(100);

Result<size_t> read_at(int fd, uint64_t offset, std::span<char> into) {
  size_t total = 0;
  while (total < into.size()) {
    const ssize_t count =
        ::pread(fd, into.data() + total, into.size() - total, static_cast<off_t>(offset + total));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno_error(errno, "read the cache"));
    if (count == 0) break;
    total += static_cast<size_t>(count);
  }
  return total;
}

FetchOptions stoppable(FetchOptions options, const std::atomic<bool>& stopped) {
  options.stopped = [&stopped, outer = std::move(options.stopped)] { return stopped || outer(); };
  return options;
}

}  // namespace

LazyFiles::LazyFiles(FileCache& cache, std::vector<WantedFile> files, Options options)
    : cache_(cache),
      files_(std::move(files)),
      options_(std::move(options)),
      fetcher_(cache, stoppable(options_.fetch, stopped_)) {
  for (size_t i = 0; i < options_.read_ahead_threads; ++i) threads_.emplace_back([this] { run_errands(); });
}

LazyFiles::~LazyFiles() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  has_errand_.notify_all();
}

Result<size_t> LazyFiles::read(uint32_t file, uint64_t offset, std::span<char> into,
                               const std::function<bool()>& given_up) {
  const uint64_t size = files_[file].file->size;
  if (offset >= size) return 0;
  into = into.first(std::min<uint64_t>(into.size(), size - offset));
  auto got = size <= kChunk ? read_small(file, offset, into) : read_large(file, offset, into, given_up);
  if (!got) tell(got.error());
  return got;
}

void LazyFiles::tell(const Error& error) {
  if (error.code == ErrorCode::kConflict) std::call_once(told_, [&] { options_.on_mismatch(error); });
}

Result<size_t> LazyFiles::read_small(uint32_t file, uint64_t offset, std::span<char> into) {
  SLIPWAY_ASSIGN(const UniqueFd fd, fetcher_.fetch(files_[file], progress_));
  return read_at(fd.get(), offset, into);
}

Result<UniqueFd> LazyFiles::open_whole(uint32_t file) {
  return cache_.open_file(files_[file].key, files_[file].file->size);
}

Result<std::shared_ptr<LazyFiles::Large>> LazyFiles::open_large(uint32_t file) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(file);
    if (found != open_.end()) {
      auto& [large, place] = found->second;
      recent_.splice(recent_.begin(), recent_, place);
      // Once it has become whole it is opened by its name, so that using it is remembered.
      if (large->whole || !large->partial->complete()) return large;
      recent_.erase(place);
      open_.erase(found);
    }
  }
  auto large = std::make_shared<Large>();
  while (!large->whole && large->partial == nullptr) {
    auto whole = open_whole(file);
    if (whole) large->whole = std::move(*whole);
    if (!whole) {
      SLIPWAY_ASSIGN(large->partial, cache_.open_partial(files_[file].key, files_[file].file->size));
    }
  }
  const std::lock_guard lock(mutex_);
  if (const auto found = open_.find(file); found != open_.end()) return found->second.first;
  recent_.push_front(file);
  open_.emplace(file, std::pair(large, recent_.begin()));
  if (open_.size() > kMaxOpen) {
    open_.erase(recent_.back());
    recent_.pop_back();
  }
  return large;
}

Result<size_t> LazyFiles::read_large(uint32_t file, uint64_t offset, std::span<char> into,
                                     const std::function<bool()>& given_up) {
  SLIPWAY_ASSIGN(const std::shared_ptr<Large> large, open_large(file));
  if (large->whole) return read_at(large->whole.get(), offset, into);
  const size_t first = offset / kChunk;
  const size_t last = (offset + into.size() - 1) / kChunk;
  // The kernel asks for several pieces at once, not quite in order.
  const uint64_t expected = large->next_chunk;
  const bool in_order = first <= expected + 2 && first + 4 >= expected;
  large->next_chunk = last + 1;
  if (in_order) order_ahead(file, large, first);
  for (size_t chunk = first; chunk <= last; ++chunk) SLIPWAY_TRY(await(file, *large, chunk, given_up));
  return read_at(large->partial->fd(), offset, into);
}

void LazyFiles::order_ahead(uint32_t file, const std::shared_ptr<Large>& large, size_t chunk) {
  PartialFile& partial = *large->partial;
  const size_t end = std::min(chunk + kAhead, partial.chunks());
  while (chunk < end) {
    if (partial.has(chunk)) {
      ++chunk;
      continue;
    }
    const size_t claimed = partial.claim(chunk, FetchBatch::kSpan);
    if (claimed > 0 && !push({.file = file, .large = large, .first = chunk, .count = claimed})) {
      partial.release(chunk, claimed);
      return;
    }
    chunk += std::max<size_t>(claimed, 1);
  }
}

Status LazyFiles::await(uint32_t file, Large& large, size_t chunk, const std::function<bool()>& given_up) {
  PartialFile& partial = *large.partial;
  while (!partial.has(chunk)) {
    if (given_up() || stopped_) return fail(ErrorCode::kUnavailable, "the read was given up");
    if (partial.claim(chunk, 1) > 0)
      return fetcher_.fetch_claimed(files_[file], partial, chunk, 1, progress_);
    partial.wait(chunk, kLook);
  }
  return {};
}

bool LazyFiles::push(Errand errand) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || errands_.size() >= kMaxErrands) return false;
    errands_.push_back(std::move(errand));
  }
  has_errand_.notify_one();
  return true;
}

void LazyFiles::run_errands() {
  while (true) {
    Errand errand;
    {
      std::unique_lock lock(mutex_);
      // The destructor always wakes it.
      has_errand_.wait(lock, [this] { return stopped_ || !errands_.empty(); });
      if (stopped_) return;
      errand = std::move(errands_.front());
      errands_.pop_front();
    }
    // A failure stays with whoever wants the chunk: they try again by themselves and are told.
    (void)fetcher_.fetch_claimed(files_[errand.file], *errand.large->partial, errand.first, errand.count,
                                 progress_);
  }
}

}  // namespace slipway::data

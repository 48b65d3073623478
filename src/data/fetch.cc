#include "data/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/failpoint.h"
#include "data/fetch_batch.h"

namespace slipway::data {
namespace {

constexpr uint64_t kChunk = PartialFile::kChunk;
// The lock of whoever reads a large object in one go, beside those of its chunks.
constexpr uint64_t kStream = CacheLock::kWhole + 1;
constexpr int kMostRooms = 16;  // see cache.cc
constexpr auto kLongestPause = std::chrono::seconds(5);
constexpr auto kChunkWait = std::chrono::milliseconds(200);

bool may_pass(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout || code == ErrorCode::kUnreachable ||
         code == ErrorCode::kExhausted || code == ErrorCode::kInternal;
}

std::unexpected<Error> stopped() {
  return fail(ErrorCode::kUnavailable, "fetching was stopped");
}

// Writes what comes to its place in a partial file and marks each chunk once it is whole.
class ChunkWriter {
 public:
  ChunkWriter(FileCache& cache, PartialFile& partial, uint64_t offset, uint64_t end, FetchProgress& progress)
      : cache_(cache), partial_(partial), at_(offset), end_(end), progress_(progress) {}

  Status take(std::string_view bytes) {
    if (bytes.size() > end_ - at_) return fail(ErrorCode::kConflict, "it is longer than its version");
    while (!bytes.empty()) {
      const size_t chunk = at_ / kChunk;
      const uint64_t chunk_end = chunk * kChunk + partial_.length_of(chunk);
      const std::string_view piece = bytes.substr(0, chunk_end - at_);
      if (!partial_.has(chunk)) {
        SLIPWAY_TRY(write(piece));
        progress_.bytes += piece.size();
      }
      progress_.fetched += piece.size();
      at_ += piece.size();
      bytes.remove_prefix(piece.size());
      if (at_ == chunk_end && !partial_.has(chunk)) partial_.mark(chunk);
    }
    return {};
  }

  uint64_t at() const { return at_; }

 private:
  Status write(std::string_view piece) {
    Status written = partial_.write(at_, piece);
    for (int tries = 0; tries < kMostRooms && !written && written.error().code == ErrorCode::kStorageFull &&
                        cache_.make_room(piece.size());
         ++tries)
      written = partial_.write(at_, piece);
    return written;
  }

  FileCache& cache_;
  PartialFile& partial_;
  uint64_t at_;
  const uint64_t end_;
  FetchProgress& progress_;
};

}  // namespace

CacheKey cache_key(const File& file, const std::string& location) {
  if (file.digest) return {*file.digest};
  const std::string identity = fmt::format("{}\n{}\n{}\n{}", location, file.key, file.tag, file.size);
  return {Digest::of(identity), false};
}

Error Fetcher::mismatch(const File& file, std::string_view why) const {
  return Error{.code = ErrorCode::kConflict,
               .message = fmt::format("the content of '{}' no longer matches its version, {}: {}", file.path,
                                      options_.dataset, why),
               .next =
                   "create a new version with `slipway data create`, or use what is there with "
                   "`verify: false` for this input",
               .detail = {}};
}

// What the caller is told of the last try.
Status Fetcher::final_error(const WantedFile& file, Error error) const {
  if (error.code == ErrorCode::kConflict) return fail(mismatch(*file.file, error.message));
  if (error.code == ErrorCode::kStorageFull)
    return fail(ErrorCode::kStorageFull,
                fmt::format("no room for '{}' of {} ({} bytes): {}", file.file->path, options_.dataset,
                            file.file->size, error.message),
                "free space on the disk of the node's cache, and submit the run again");
  error.message =
      fmt::format("'{}' of {} cannot be fetched: {}", file.file->path, options_.dataset, error.message);
  return fail(std::move(error));
}

Status Fetcher::insist(const WantedFile& file, const std::function<Status(bool& progressed)>& attempt) {
  Duration pause = options_.first_pause;
  for (int tries = 1;; ++tries) {
    if (options_.stopped()) return stopped();
    bool progressed = false;
    Status done = attempt(progressed);
    if (done) return {};
    if (progressed) {
      tries = 0;
      pause = options_.first_pause;
    }
    if (options_.stopped()) return stopped();
    if (!may_pass(done.error().code) || tries >= options_.tries)
      return final_error(file, std::move(done).error());
    for (Duration slept(0); slept < pause && !options_.stopped(); slept += std::chrono::milliseconds(20))
      std::this_thread::sleep_for(std::min<Duration>(pause - slept, std::chrono::milliseconds(20)));
    pause = std::min<Duration>(pause * 2, kLongestPause);
  }
}

Status Fetcher::fetch_small(const WantedFile& file, FetchProgress& progress) {
  const uint64_t size = file.file->size;
  return insist(file, [&](bool& /*progressed*/) -> Status {
    SLIPWAY_ASSIGN(const CacheLock lock, cache_.lock(file.key, 0));
    if (cache_.holds(file.key, size)) return {};
    std::string content;
    content.reserve(size);
    if (size > 0)
      SLIPWAY_TRY(
          file.source->read(*file.file, {.offset = 0, .length = size}, [&](std::string_view bytes) -> Status {
            if (options_.stopped()) return stopped();
            if (content.size() + bytes.size() > size)
              return fail(ErrorCode::kConflict, "it is longer than its version");
            content += bytes;
            return {};
          }));
    if (content.size() < size)
      return fail(ErrorCode::kUnavailable, fmt::format("only {} of {} bytes came", content.size(), size));
    Status put = cache_.put(file.key, content);
    if (!put && put.error().code == ErrorCode::kInvalidArgument)
      return fail(ErrorCode::kConflict, "its digest is another one");
    if (put) progress.fetched += size;
    return put;
  });
}

// One request. Moves `first` behind the chunks that have come.
Status Fetcher::read_span(const WantedFile& file, PartialFile& partial, size_t& first, size_t end,
                          FetchProgress& progress) {
  const uint64_t begin = first * kChunk;
  const uint64_t stop = std::min(end * kChunk, file.file->size);
  ChunkWriter writer(cache_, partial, begin, stop, progress);
  const Status read = file.source->read(*file.file, {.offset = begin, .length = stop - begin},
                                        [&](std::string_view bytes) -> Status {
                                          if (options_.stopped()) return stopped();
                                          SLIPWAY_FAILPOINT("fetch.piece");
                                          return writer.take(bytes);
                                        });
  while (first < end && partial.has(first)) ++first;
  if (!read) return read;
  if (writer.at() < stop)
    return fail(ErrorCode::kUnavailable,
                fmt::format("only {} of {} bytes came", writer.at() - begin, stop - begin));
  return {};
}

Status Fetcher::fetch_span(const WantedFile& file, PartialFile& partial, size_t first, size_t count,
                           FetchProgress& progress) {
  const size_t end = first + count;
  Status done = insist(file, [&](bool& progressed) -> Status {
    SLIPWAY_ASSIGN(const CacheLock lock, cache_.lock(file.key, first, end - first));
    // Another process may have fetched some of it meanwhile.
    while (first < end && partial.has(first)) ++first;
    size_t last = end;
    while (first < last && partial.has(last - 1)) --last;
    if (first == last) return {};
    const size_t before = first;
    Status read = read_span(file, partial, first, last, progress);
    progressed = first > before;
    if (!read && read.error().code == ErrorCode::kUnsupported) return stream_whole(file, partial, progress);
    return read;
  });
  if (!done && done.error().code == ErrorCode::kConflict) cache_.drop_partial(file.key);
  return done;
}

// From a server without ranges: all of it in one go, for everybody who waits for a piece.
Status Fetcher::stream_whole(const WantedFile& file, PartialFile& partial, FetchProgress& progress) {
  SLIPWAY_ASSIGN(const CacheLock lock, cache_.lock(file.key, kStream));
  if (partial.complete()) return {};
  size_t first = 0;
  return read_span(file, partial, first, partial.chunks(), progress);
}

Status Fetcher::ensure(const WantedFile& file, PartialFile& partial, size_t chunk, size_t ahead,
                       FetchProgress& progress) {
  while (!partial.has(chunk)) {
    const size_t claimed = partial.claim(chunk, 1 + ahead);
    if (claimed == 0) {
      partial.wait(chunk, kChunkWait);
      if (options_.stopped()) return stopped();
      continue;
    }
    SLIPWAY_TRY(fetch_claimed(file, partial, chunk, claimed, progress));
  }
  return {};
}

Status Fetcher::fetch_claimed(const WantedFile& file, PartialFile& partial, size_t first, size_t count,
                              FetchProgress& progress) {
  Status fetched = fetch_span(file, partial, first, count, progress);
  partial.release(first, count);
  SLIPWAY_TRY(fetched);
  return partial.complete() ? finish(file, partial) : Status();
}

Status Fetcher::finish(const WantedFile& file, PartialFile& partial) {
  const Status finished = cache_.finish_partial(file.key, partial);
  if (!finished && finished.error().code == ErrorCode::kInvalidArgument)
    return fail(mismatch(*file.file, "its digest is another one"));
  return finished;
}

Result<UniqueFd> Fetcher::fetch(const WantedFile& file, FetchProgress& progress) {
  // Whoever trims the cache may take a file between its coming and its opening.
  for (int tries = 1;; ++tries) {
    auto opened = cache_.open_file(file.key, file.file->size);
    if (opened || opened.error().code != ErrorCode::kNotFound || tries > 3) return opened;
    if (file.file->size <= kChunk) {
      SLIPWAY_TRY(fetch_small(file, progress));
      continue;
    }
    SLIPWAY_ASSIGN(const std::shared_ptr<PartialFile> partial,
                   cache_.open_partial(file.key, file.file->size));
    if (partial == nullptr) continue;
    for (size_t chunk = 0; chunk < partial->chunks(); ++chunk)
      SLIPWAY_TRY(ensure(file, *partial, chunk, FetchBatch::kSpan - 1, progress));
    if (partial->complete()) SLIPWAY_TRY(finish(file, *partial));
  }
}

Status Fetcher::fetch_all(std::span<const WantedFile> files, FetchProgress& progress, const Place& place) {
  FetchBatch batch(*this, cache_, files, progress, place);
  return batch.run(options_.connections);
}

}  // namespace slipway::data

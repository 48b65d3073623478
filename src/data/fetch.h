// Brings the files of a dataset into the cache: many small ones over several connections at once, large ones
// in ranges, also several at once.
//
//  1. What has come is never fetched again, whoever fetched it and however it ended: small files are whole or
//     absent, large ones are recorded chunk by chunk (cache_partial.h).
//  2. Two that want the same bytes at once, in one process or several, fetch them once: the chunks are
//  locked.
//  3. Bytes that are not those of the version never stay in the cache. They are told by the digest where it
//  is
//     known, else by entity tag and length, which every single request states.
//  4. A broken connection or a server that is ill for a moment is tried again, from where it broke; after
//     `tries` without a chunk of progress it is an error.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "data/cache.h"
#include "data/datastore.h"
#include "data/manifest.h"

namespace slipway::data {

// Where the bytes of files are read. Safe to use from several threads at once; each read is a request of its
// own.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Gives the bytes of the range, all of them and in order. kConflict: the object is not the manifest's any
  // more; the message says in what ("its entity tag has changed"). kUnsupported: the server gives whole
  // objects only, and the range begins behind the beginning.
  virtual Status read(const File& file, const Range& range, const Sink& sink) = 0;
  // What is there now: size, and tag or digest.
  virtual Result<Object> look(const File& file) = 0;
};

// A file to have, of a manifest that outlives the fetching.
struct WantedFile {
  CacheKey key;
  const File* file = nullptr;
  ByteSource* source = nullptr;
};

// The key under which a file is cached: its digest, or all that is known of it. `location` is the address of
// its source, without credentials.
CacheKey cache_key(const File& file, const std::string& location);

struct FetchOptions {
  std::string dataset;  // for messages: "mnist:2"
  size_t connections = 8;
  int tries = 6;
  Duration first_pause = std::chrono::milliseconds(100);  // before a repetition; doubled each time
  std::function<bool()> stopped = [] { return false; };   // asked often, from every thread
};

// How far it has got; read while others fetch.
struct FetchProgress {
  std::atomic<uint64_t> files = 0;    // in place
  std::atomic<uint64_t> bytes = 0;    // of those, and of those that come
  std::atomic<uint64_t> fetched = 0;  // of those, over the network: the rest was in the cache
};

class Fetcher {
 public:
  Fetcher(FileCache& cache, FetchOptions options) : cache_(cache), options_(std::move(options)) {}

  // Has each file in the cache and gives it to `place`, from any thread and in any order. After a failure
  // nothing new is begun. kUnavailable once stopped.
  using Place = std::function<Status(const WantedFile&, int fd)>;
  Status fetch_all(std::span<const WantedFile> files, FetchProgress& progress, const Place& place);

  // One file, from its beginning.
  Result<UniqueFd> fetch(const WantedFile& file, FetchProgress& progress);

  // Has the chunk, and fetches up to `ahead` of those behind it in the same request when they are missing.
  Status ensure(const WantedFile& file, PartialFile& partial, size_t chunk, size_t ahead,
                FetchProgress& progress);

  // Fetches chunks that the caller has claimed, and ends the claim whatever comes of it.
  Status fetch_claimed(const WantedFile& file, PartialFile& partial, size_t first, size_t count,
                       FetchProgress& progress);

  // The sentence of a file that is not its version's any more.
  Error mismatch(const File& file, std::string_view why) const;

 private:
  Status fetch_small(const WantedFile& file, FetchProgress& progress);
  Status fetch_span(const WantedFile& file, PartialFile& partial, size_t first, size_t count,
                    FetchProgress& progress);
  Status read_span(const WantedFile& file, PartialFile& partial, size_t& first, size_t end,
                   FetchProgress& progress);
  Status stream_whole(const WantedFile& file, PartialFile& partial, FetchProgress& progress);
  Status finish(const WantedFile& file, PartialFile& partial);
  Status insist(const WantedFile& file, const std::function<Status(bool& progressed)>& attempt);
  Status final_error(const WantedFile& file, Error error) const;

  FileCache& cache_;
  const FetchOptions options_;
};

}  // namespace slipway::data

// Artifacts by digest: one interface; a folder now, object storage later.
//
// Invariants
//   1. A blob that can be opened matches its digest: it is written aside, hashed, synced, renamed, its folder
//   synced.
//   2. A blob is deleted only by the Sweeper, which asks the reference table (references.h) in the same step.
//   3. Whatever puts a blob there, even one that was there already, makes it young again. The sweeper leaves
//   alone
//      what is young, and what became so since the oldest Hold began: a hold lasts from the upload to the
//      reference.
//
// Thread-safe, and several processes may share one folder. A store outlives its writers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/result.h"

namespace slipway::blobs {

struct OpenBlob {
  UniqueFd fd;
  uint64_t size = 0;
};

// Takes the bytes of one blob. One thread at a time. Destroyed without `finish` or `suspend`: the bytes are
// dropped.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  // Hashes and writes without copying. After an error only destruction is left.
  virtual Status append(std::string_view bytes) = 0;
  // Bytes held so far, those of an earlier interrupted upload included.
  virtual uint64_t offset() const = 0;
  // Keeps what is there for a later `begin` of the same digest, and lets go of it.
  virtual void suspend() = 0;
  // Makes the blob durable and visible. kInvalidArgument when the digest is another: the bytes are dropped.
  virtual Result<Digest> finish() = 0;
};

// While it lives, nothing that was put into its store since it began is taken away. Writers and receivers of
// packs hold by themselves; whoever calls `put` and refers to the blob later holds around both.
class Hold {
 public:
  virtual ~Hold() = default;
};

struct NamedContent {
  Digest digest;
  std::string content;
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // Whether it is there, and how large.
  virtual std::optional<uint64_t> size_of(const Digest& digest) = 0;
  virtual Result<OpenBlob> open(const Digest& digest) = 0;  // kNotFound

  [[nodiscard]] virtual std::unique_ptr<Hold> hold() = 0;

  // Stores bytes that are at hand.
  virtual Result<Digest> put(std::string_view content) = 0;
  // Stores many small ones for the price of few syncs. kInvalidArgument names the first whose digest is
  // another; then none of them has become visible.
  virtual Status put_all(const std::vector<NamedContent>& blobs) = 0;
  // Starts or resumes the upload of a blob whose digest is known. kConflict while another upload of the same
  // one runs.
  virtual Result<std::unique_ptr<BlobWriter>> begin(const Digest& expected) = 0;
  // How much of an interrupted upload is held; 0 when none.
  virtual uint64_t partial_size(const Digest& digest) = 0;

  // Takes a blob away that has not become young for `unused`, and says how large it was; nullopt when it
  // stays or is not there. Whoever reads it goes on reading. Quick: the bytes are freed by `free_hidden`,
  // which takes its time.
  virtual Result<std::optional<uint64_t>> hide(const Digest& digest, Duration unused) = 0;
  virtual void free_hidden() = 0;
  // Both at once, whatever its age: for a cache.
  Result<std::optional<uint64_t>> remove(const Digest& digest) {
    auto hidden = hide(digest, Duration::zero());
    free_hidden();
    return hidden;
  }
  virtual Status for_each(const std::function<void(const Digest&, uint64_t size)>& visit) = 0;
  // Drops uploads that were interrupted more than a day ago.
  virtual void drop_stale_partials() = 0;
};

// `folder`/ab/cdef...; `folder`/.partial/<digest> for uploads in progress. Creates what is missing.
Result<std::unique_ptr<BlobStore>> open_folder_store(const std::string& folder);

}  // namespace slipway::blobs

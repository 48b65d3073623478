// Artifacts by digest: one interface; a folder now, object storage later.
//
// Invariants
//   1. A blob that can be opened matches its digest: it is written aside, hashed, synced, renamed, its folder synced.
//   2. A blob is deleted only by `sweep`, which asks the reference table (references.h) in the same step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/fd.h"
#include "base/result.h"

namespace slipway::blobs {

struct OpenBlob {
  UniqueFd fd;
  uint64_t size = 0;
};

// Takes the bytes of one blob. Destroyed without `finish`: nothing becomes visible.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  virtual Status append(std::string_view bytes) = 0;
  // Bytes held so far, those of an earlier interrupted upload included.
  virtual uint64_t offset() const = 0;
  // Keeps what is there for a later `resume`, and lets go of it.
  virtual void suspend() = 0;
  // Makes the blob durable and visible. kInvalidArgument when the digest or the size is another: the bytes are dropped.
  virtual Result<Digest> finish() = 0;
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // Whether it is there, and how large.
  virtual std::optional<uint64_t> size_of(const Digest& digest) = 0;
  virtual Result<OpenBlob> open(const Digest& digest) = 0;  // kNotFound

  // Stores bytes that are at hand.
  virtual Result<Digest> put(std::string_view content) = 0;
  // Starts or resumes the upload of a blob whose digest is known. kConflict while another upload of the same one runs.
  virtual Result<std::unique_ptr<BlobWriter>> begin(const Digest& expected) = 0;
  // How much of an interrupted upload is held; 0 when none.
  virtual uint64_t partial_size(const Digest& digest) = 0;

  // Removes bytes. For the sweeper alone.
  virtual Status remove(const Digest& digest) = 0;
  virtual Status for_each(const std::function<void(const Digest&, uint64_t size)>& visit) = 0;
  // Drops interrupted uploads older than a day.
  virtual void drop_stale_partials() = 0;
};

// `folder`/ab/cdef...; `folder`/.partial/<digest> for uploads in progress.
Result<std::unique_ptr<BlobStore>> open_folder_store(const std::string& folder);

}  // namespace slipway::blobs

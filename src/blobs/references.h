// Who needs which blob, kept in the metadata store. A blob without a reference is swept.
//
// Invariants
//   1. A reference is written after the blob is durable, and in the transaction that makes its owner visible.
//   The first
//      one (add_upload) looks for the blob in that transaction; the others stand on one that is there
//      already.
//   2. The sweeper checks for references and removes the blob inside one turn of the writer thread, so that
//   no
//      reference can be added between the two.
//   3. A workspace sees a blob only through a reference of its own: knowing a digest gives no right to the
//   bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "base/ids.h"
#include "blobs/blob_store.h"
#include "store/database.h"

namespace slipway::blobs {

// The names of owners. An upload owns its blob until something lasting does, or until it expires.
std::string upload_owner(const WorkspaceName& workspace);
std::string run_owner(const RunId& run);
std::string snapshot_owner(const WorkspaceName& workspace, std::string_view snapshot);

// Repeating it is harmless; the later expiry wins, and none is the latest. A lasting reference ends the
// workspace's upload lease on the blob.
Status add_reference(store::Writer& writer, const Digest& digest, std::string_view owner,
                     const WorkspaceName& workspace, std::optional<Timestamp> expires = std::nullopt);
// The lease of a blob that has just been uploaded. kUnavailable when the sweeper was quicker: it has to come
// again.
Status add_upload(store::Writer& writer, BlobStore& blobs, const Digest& digest,
                  const WorkspaceName& workspace, Timestamp expires);
Status drop_references(store::Writer& writer, std::string_view owner);
Status drop_reference(store::Writer& writer, const Digest& digest, std::string_view owner);

// Whether the workspace has a reference to it.
Result<bool> is_present(store::Reader& reader, const WorkspaceName& workspace, const Digest& digest);
// Those of `digests` that the workspace lacks, in their order, each once.
Result<std::vector<Digest>> missing(store::Reader& reader, const WorkspaceName& workspace,
                                    const std::vector<Digest>& digests);

struct Swept {
  uint64_t leases = 0;  // uploads that nothing claimed in time
  uint64_t blobs = 0;
  uint64_t bytes = 0;
};

// Frees what nothing needs. Not thread-safe: one caller.
class Sweeper {
 public:
  // `grace`: how long a blob may be without a reference, from the moment it was last put there.
  Sweeper(store::Database& database, BlobStore& blobs, const Clock& clock,
          Duration grace = std::chrono::minutes(1))
      : database_(database), blobs_(blobs), clock_(clock), grace_(grace) {}

  Result<Swept> sweep();

 private:
  Result<std::vector<Digest>> candidates();
  Status remove_unreferenced(const std::vector<Digest>& digests, Swept& swept);

  store::Database& database_;
  BlobStore& blobs_;
  const Clock& clock_;
  const Duration grace_;
};

}  // namespace slipway::blobs

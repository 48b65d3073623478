// The workspace's own store: paths in the metadata store, bytes as blobs under their digest.
//
// Invariants
//   1. Each path refers to its blob (blobs/references.h) for as long as it is there; both change in one
//      transaction.
//   2. A dataset's version refers to its blobs by itself: overwriting or removing a path takes nothing from
//   it.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "blobs/blob_store.h"
#include "data/datastore.h"
#include "store/database.h"

namespace slipway::data {

// A file whose blob is on the server already.
struct StoredFile {
  std::string path;
  Digest digest;
  uint64_t size = 0;
};

// What is done about a path that has another content already.
enum class Existing { kRefuse, kSkip, kReplace };

struct Added {
  uint64_t files = 0;  // new, replaced, or there with the same content
  std::vector<std::string> skipped;
};

class WorkspaceDatastore final : public Datastore {
 public:
  // All outlive it.
  WorkspaceDatastore(store::Database& database, blobs::BlobStore& blobs, const Clock& clock,
                     WorkspaceName workspace, std::string name)
      : database_(database),
        blobs_(blobs),
        clock_(clock),
        workspace_(std::move(workspace)),
        name_(std::move(name)) {}

  SourceKind kind() const override { return SourceKind::kWorkspace; }
  Result<Page> list(const ListRequest& request) override;
  Result<Object> stat(const std::string& path) override;
  Result<Object> read(const std::string& path, const Range& range, const std::string& tag,
                      const Sink& sink) override;
  Result<Object> write(const std::string& path, const Pieces& pieces, bool overwrite) override;

  // Gives blobs that the workspace has uploaded their paths, in several transactions where there are many.
  // kConflict, naming one, when blobs are not there, or when kRefuse meets a path with another content.
  Result<Added> add(const std::vector<StoredFile>& files, Existing existing);
  Status remove(const std::string& path);  // kNotFound

 private:
  Status add_one(store::Writer& writer, const StoredFile& file, Existing existing, Added& added);
  std::string owner_of(const std::string& path) const;

  store::Database& database_;
  blobs::BlobStore& blobs_;
  const Clock& clock_;
  const WorkspaceName workspace_;
  const std::string name_;
};

}  // namespace slipway::data

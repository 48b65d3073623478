// The datasets of a workspace: created from definitions, found by name and version, read.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <vector>

#include "base/clock.h"
#include "blobs/blob_store.h"
#include "data/dataset_table.h"
#include "data/datastores.h"
#include "data/manifest.h"
#include "store/database.h"

namespace slipway::data {

struct NewDataset {
  std::string name;
  Definition definition;
  std::optional<std::string> description;
  std::map<std::string, std::string> tags;
  std::string created_by;
};

struct CreatedDataset {
  VersionRecord record;
  bool existed = false;  // the same definition gave the same files: this is the version that was there
};

// The content of one file of a version, where the server can open it: from the workspace's own store or a
// folder.
struct OpenContent {
  UniqueFd fd;
  uint64_t size = 0;
  std::string tag;
};

// Thread-safe.
class Datasets {
 public:
  // All outlive it.
  Datasets(store::Database& database, blobs::BlobStore& blobs, Datastores& datastores, const Clock& clock)
      : database_(database), blobs_(blobs), datastores_(datastores), clock_(clock) {}

  // Looks at every file; durable when it returns. The errors of resolve, and kExhausted while too many are
  // being created.
  Result<CreatedDataset> create(const WorkspaceName& workspace, const NewDataset& made);
  Result<VersionRecord> find(const WorkspaceName& workspace, const std::string& ref);
  // shared_ptr: kept here for the next one who asks, as long as there is room.
  Result<std::shared_ptr<const Manifest>> manifest(const Digest& id);
  // The text that the digest names.
  Result<blobs::OpenBlob> manifest_text(const Digest& id) { return blobs_.open(id); }

  // kNotFound for a path the version has not, kUnsupported for a file of a web server, kConflict when the
  // file is another by now.
  Result<OpenContent> open(const WorkspaceName& workspace, const Manifest& manifest, const std::string& path);

  // Part of a file, wherever it lies. kConflict when its entity tag is another by now.
  Status read(const WorkspaceName& workspace, const Manifest& manifest, const File& file, const Range& range,
              const Sink& sink);
  // Its first bytes.
  Result<std::string> read_beginning(const WorkspaceName& workspace, const Manifest& manifest,
                                     const File& file, uint64_t bytes);

  // kConflict while active runs use it.
  Status remove(const WorkspaceName& workspace, const std::string& ref);
  Result<VersionRecord> label(const WorkspaceName& workspace, const std::string& ref,
                              const std::map<std::string, std::optional<std::string>>& tags,
                              const std::optional<std::string>& description);

  Datastores& datastores() { return datastores_; }

  // Ends creations in progress between two files, and refuses new ones: for the server's end.
  void stop() { stopped_ = true; }

 private:
  Result<Manifest> find_files(const WorkspaceName& workspace, Definition& definition);
  Status refuse_if_used(store::Reader& reader, const WorkspaceName& workspace, const VersionRecord& record);

  store::Database& database_;
  blobs::BlobStore& blobs_;
  Datastores& datastores_;
  const Clock& clock_;
  std::counting_semaphore<> creations_{4};
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::list<std::pair<Digest, std::shared_ptr<const Manifest>>> recent_;  // newest first
};

// The digests a version keeps alive in the workspace's own stores, each once.
std::vector<Digest> own_blobs(const Manifest& manifest);

}  // namespace slipway::data

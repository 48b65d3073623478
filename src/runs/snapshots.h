// Snapshots of source folders: manifests whose files are all stored. A manifest becomes visible only when
// they are.
#pragma once

#include "base/clock.h"
#include "blobs/blob_store.h"
#include "runs/run.h"
#include "snapshot/manifest.h"
#include "store/database.h"

namespace slipway::runs {

class Snapshots {
 public:
  Snapshots(store::Database& database, blobs::BlobStore& blobs, const Clock& clock)
      : database_(database), blobs_(blobs), clock_(clock) {}

  // Durable when it returns; repeating is harmless. kConflict when files are missing, naming how many and the
  // first.
  Status add(const WorkspaceName& workspace, const snapshot::Manifest& manifest);
  // kNotFound.
  Result<snapshot::Manifest> load(const WorkspaceName& workspace, const std::string& digest);
  bool exists(const WorkspaceName& workspace, const std::string& digest);

 private:
  store::Database& database_;
  blobs::BlobStore& blobs_;
  const Clock& clock_;
};

// Makes it visible; its text is stored already, and held. The errors of Snapshots::add.
Status add_snapshot(store::Writer& writer, const WorkspaceName& workspace, const snapshot::Manifest& manifest,
                    Timestamp now);
// kNotFound when the workspace has no such snapshot, with what to do.
Status check_snapshot(store::Reader& reader, const WorkspaceName& workspace, const std::string& digest);
Status check_snapshot(store::Database& database, const WorkspaceName& workspace, const std::string& digest);
// Lets go of the snapshot's blobs when no run and no model names it any more.
Status drop_unused_snapshot(store::Writer& writer, const WorkspaceName& workspace, const std::string& digest);
// Of those that were uploaded before `before` and never run.
Status drop_unused_snapshots(store::Writer& writer, Timestamp before);

}  // namespace slipway::runs

// What runs leave in datastores: taken in from their nodes, registered as datasets when the run has
// completed.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "data/datasets.h"
#include "protocol/node.h"
#include "runs/run.h"
#include "store/database.h"

namespace slipway::runs {

struct StoredOutput {
  std::string datastore;
  std::string path;
  uint64_t files = 0;  // of all nodes together
  uint64_t bytes = 0;
};

// Puts files, whose blobs the node has uploaded, below the output's path. May be repeated, and called by each
// node of the run: a later file of the same path wins. kConflict, naming it, when another than this run has
// put a file there and the output does not overwrite, or when the datastore is gone; another code that is not
// worth a repetition when its folder cannot be written.
class RunOutputs {
 public:
  RunOutputs(store::Database& database, blobs::BlobStore& blobs, data::Datasets& datasets)
      : database_(database), blobs_(blobs), datasets_(datasets) {}

  Result<StoredOutput> take(const NodeId& node, const AttemptKey& key, const std::string& output,
                            const std::vector<data::StoredFile>& files);

 private:
  Result<data::OpenDatastore> open_for(const Run& run, const JobOutput& wanted);
  Status place(const Run& run, const std::string& output, const std::string& folder,
               const std::vector<data::StoredFile>& files);
  Result<data::Manifest> merged(const Run& run, const std::string& output, const std::string& folder,
                                int attempt, const std::vector<data::StoredFile>& files);

  store::Database& database_;
  blobs::BlobStore& blobs_;
  data::Datasets& datasets_;
};

// Registers what the run's outputs ask for, in the transaction that completes it. An output that was left
// empty becomes a warning of the run.
Status register_outputs(store::Writer& writer, Run& run, Timestamp now);
Result<json::array> describe_outputs(store::Reader& reader, const Run& run);
// Of the blobs that a run's outputs need until they are registered.
std::string output_owner(const RunId& run);

}  // namespace slipway::runs

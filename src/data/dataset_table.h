// Datasets and their versions in the metadata store.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "base/ids.h"
#include "base/json.h"
#include "data/definition.h"
#include "store/database.h"

namespace slipway::data {

struct VersionRecord {
  std::string name;
  int version = 1;
  Definition definition;
  Digest manifest;
  uint64_t files = 0;
  uint64_t bytes = 0;
  std::string description;
  std::map<std::string, std::string> tags;
  std::optional<RunId> produced_by;
  std::string output;  // of that run
  std::string created_by;
  Timestamp created_at;
};

// Without lineage, which has calls of its own.
json::object to_json(const VersionRecord& record);
std::string to_text(const VersionRecord& record);  // "mnist:2"

// kNotFound, naming what there is: the datasets, or the versions of that one.
Result<VersionRecord> find_version(store::Reader& reader, const WorkspaceName& workspace,
                                   const DatasetRef& ref);
// The newest version of each dataset, by name, those after `after`.
Result<std::vector<VersionRecord>> list_newest(store::Reader& reader, const WorkspaceName& workspace,
                                               const std::string& after, int64_t limit);
// Newest first, those before `before`.
Result<std::vector<VersionRecord>> list_versions(store::Reader& reader, const WorkspaceName& workspace,
                                                 const std::string& name, int64_t before, int64_t limit);
// The newest version with this definition and manifest.
Result<std::optional<VersionRecord>> find_same(store::Reader& reader, const WorkspaceName& workspace,
                                               const VersionRecord& wanted);

// Gives it the next number and stores it; `record.version` is set. `blobs`: the digests in the workspace's
// own stores, which the version keeps alive with its manifest.
Status insert_version(store::Writer& writer, const WorkspaceName& workspace, VersionRecord& record,
                      const std::vector<Digest>& blobs);
Status update_labels(store::Writer& writer, const WorkspaceName& workspace, const VersionRecord& record);
Status delete_version(store::Writer& writer, const WorkspaceName& workspace, const VersionRecord& record);

// Lineage.
struct RunUse {
  RunId run;
  std::string input;
};
Result<std::vector<RunUse>> runs_using(store::Reader& reader, const WorkspaceName& workspace,
                                       const std::string& name, int version, int64_t limit);
// The active ones among them: their data must stay.
Result<std::vector<RunId>> active_runs_using(store::Reader& reader, const WorkspaceName& workspace,
                                             const std::string& name, int version);

}  // namespace slipway::data

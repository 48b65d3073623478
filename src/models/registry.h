// The registry of a workspace's models: takes versions in, changes what can be changed, lets them go.
//
// Invariants
//   1. A version's files never change, and are all stored when it becomes visible. The version holds them,
//   the
//      code it came from and its samples until it is deleted; the same bytes are stored once, whatever names
//      them.
//   2. Numbers count from 1 within a name and are never given twice.
//   3. What something uses is not deleted (lineage.h).
// Thread-safe: its state is the store's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "blobs/blob_store.h"
#include "models/model.h"
#include "models/trials.h"
#include "runs/snapshots.h"
#include "store/idempotency.h"

namespace slipway::models {

// What a user says about a model. Its files are a run's, at `path`, or those of an uploaded snapshot.
struct NewModel {
  WorkspaceName workspace;
  std::string name;
  std::optional<RunId> run;
  std::string path;
  std::string snapshot;  // empty: the files are the run's
  ModelFramework framework = ModelFramework::kCustom;
  std::string framework_version;
  std::string environment;  // where it is tried and served; empty: where its framework is
  std::string description;
  Resources resources;
  Sample sample_input;
  Sample sample_output;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> properties;
  std::map<std::string, std::string> datasets;  // beside those the run has read
  bool trial = true;                            // false: do not find out whether it serves
  std::string created_by;
  store::RequestKey request;
};

struct Registered {
  ModelVersion model;
  bool repeated = false;  // the key was known: this is the version it made then
};

// What is not said stays as it is.
struct ModelChange {
  std::optional<std::string> description;
  std::optional<ModelFramework> framework;
  std::optional<std::string> framework_version;
  std::optional<std::string> environment;
  std::optional<Resources> resources;
  std::optional<Sample> sample_input;
  std::optional<Sample> sample_output;
  std::map<std::string, std::string> tags;
  std::vector<std::string> remove_tags;
  std::map<std::string, std::string> properties;  // new ones; the others stay as they are
};

class Registry {
 public:
  // All outlive it.
  Registry(store::Database& database, blobs::BlobStore& blobs, runs::Snapshots& snapshots, Trials& trials,
           const Clock& clock)
      : database_(database), blobs_(blobs), snapshots_(snapshots), trials_(trials), clock_(clock) {}

  // Durable when it returns, with its trial under way. kNotFound for an unknown run, snapshot, dataset or a
  // path at which the run has kept nothing; kInvalidArgument for what cannot be a model.
  Result<Registered> add(const NewModel& wanted);
  // The version that is meant, with what its trial has come to. kNotFound.
  Result<ModelVersion> find(const WorkspaceName& workspace, const ModelReference& reference);
  Result<snapshot::Manifest> files(const ModelVersion& model);
  // kConflict for a property that is set already.
  Result<ModelVersion> change(const WorkspaceName& workspace, const ModelReference& reference,
                              const ModelChange& change);
  // That version, or all of them where none is named; those that went. kConflict while one is used.
  Result<std::vector<ModelVersion>> remove(const WorkspaceName& workspace, const ModelReference& reference);

 private:
  // Fills in files and origin; the manifest is what is to be stored, where that is not there yet.
  Status describe_files(const NewModel& wanted, ModelVersion& model,
                        std::optional<snapshot::Manifest>& manifest);
  Status store_version(store::Writer& writer, const NewModel& wanted,
                       const std::optional<snapshot::Manifest>& manifest, Registered& result);
  // Pins a dataset, or takes the size of a file that must be stored.
  Status check_sample(store::Reader& reader, const WorkspaceName& workspace, Sample& sample);
  Status hold_samples(store::Writer& writer, const ModelVersion& model);

  store::Database& database_;
  blobs::BlobStore& blobs_;
  runs::Snapshots& snapshots_;
  Trials& trials_;
  const Clock& clock_;
};

}  // namespace slipway::models

// Models and their versions in the metadata store. Every SQL statement that writes these tables is in
// model_table.cc.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "runs/run_table.h"
#include "store/database.h"

namespace slipway::models {

// The version that is meant, the newest where none is named. kNotFound.
Result<ModelVersion> load_model(store::Reader& reader, const WorkspaceName& workspace,
                                const ModelReference& reference);

using runs::WantedPair;

struct ModelFilter {
  std::optional<std::string> name;
  std::optional<ModelFramework> framework;
  std::optional<RunId> run;            // that it was registered from
  std::optional<std::string> dataset;  // "mnist" or "mnist:2": made from it
  std::vector<WantedPair> tags;
  std::vector<WantedPair> properties;
  bool latest = false;             // of each model the newest that fits
  int64_t before_seq = INT64_MAX;  // newest first, so a page goes on below this one
  int64_t limit = 100;
};
Result<std::vector<ModelVersion>> list_models(store::Reader& reader, const WorkspaceName& workspace,
                                              const ModelFilter& filter);

// Gives it the next number of its name and stores it with its tags, properties and datasets; sets `seq` and
// `version`.
Status insert_model(store::Writer& writer, ModelVersion& model);
Status store_trial(store::Writer& writer, const ModelVersion& model);
// Of what can be changed: description, framework, its version, resources, samples, modified_at.
Status store_facts(store::Writer& writer, const ModelVersion& model);
Status set_tags(store::Writer& writer, const ModelVersion& model,
                const std::map<std::string, std::string>& tags);
Status remove_tag(store::Writer& writer, const ModelVersion& model, const std::string& key);
// kConflict when one of them is there already with another value.
Status add_properties(store::Writer& writer, const ModelVersion& model,
                      const std::map<std::string, std::string>& properties);
Status delete_model(store::Writer& writer, const ModelVersion& model);

}  // namespace slipway::models

// A version of a registered model, as the store holds it and as the API shows it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "protocol/job.h"
#include "protocol/model.h"

namespace slipway::models {

// An example of what a model takes or gives: a dataset's version, or a file that the model keeps.
struct Sample {
  std::string dataset;  // "mnist:2"; empty: a file
  std::string name;     // of the file
  std::string digest;   // empty with an empty dataset: there is no sample
  uint64_t size = 0;
  bool empty() const { return dataset.empty() && digest.empty(); }
};

json::value to_json(const Sample& sample);  // null: none
// {"dataset": "mnist:2"} or {"name", "digest"}; the size is the store's to say.
Result<Sample> sample_from_json(const json::object& object, std::string_view what);

// Whether the version serves, found out by a run that loads it and asks it once.
struct Trial {
  enum class State {
    kNone,     // nothing can load it by itself: a custom model needs an entry script
    kSkipped,  // it was asked to leave it out
    kRunning,
    kDone,
  };
  State state = State::kNone;
  int number = 1;  // of those this version has had
  std::optional<RunId> run;
  std::optional<bool> serves;  // once done; without a value the run gave no answer
  std::string reason;          // why it does not, or why nothing is known
  json::object found;          // what the run said: runtime, signature, sample_input, sample_output, note
};

std::string_view to_text(Trial::State state);
json::object to_json(const Trial& trial);
Trial trial_from_json(const json::object& object);  // of what to_json wrote

struct ModelVersion {
  int64_t seq = 0;
  WorkspaceName workspace;
  std::string name;
  int version = 1;
  std::string manifest;  // digest of a snapshot
  uint64_t files = 0;
  uint64_t bytes = 0;
  ModelFramework framework = ModelFramework::kCustom;
  std::string framework_version;
  std::string environment;  // where it is tried and served; empty: serving_environment decides
  std::string description;
  Resources resources;  // what serving it needs
  Sample sample_input;
  Sample sample_output;
  std::optional<RunId> run;  // that it was registered from
  std::string path;          // of the run's files
  json::object code;         // of that run: snapshot, git, command, environment
  Trial trial;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> properties;  // each set once and never changed
  std::map<std::string, std::string> datasets;    // "mnist:2" by what it was to the run
  std::string created_by;
  Timestamp created_at;
  Timestamp modified_at;
};

ModelReference reference_of(const ModelVersion& model);
// Of the code it came from; empty: none is known.
std::string code_snapshot_of(const ModelVersion& model);
// Without what uses it, which has calls of its own (lineage.h).
json::object to_json(const ModelVersion& model);

}  // namespace slipway::models

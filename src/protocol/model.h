// Models as jobs, nodes and people name them. A version's files are a snapshot's manifest
// (snapshot/manifest.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace slipway {

// How a job or a service names a model: NAME or NAME:VERSION.
struct ModelReference {
  std::string name;
  int version = 0;  // 0: the newest
  bool operator==(const ModelReference&) const = default;
};

// A name starts with a letter or digit and has up to 255 letters, digits, '-', '.' and '_'.
Status check_model_name(std::string_view name);
Result<ModelReference> parse_model_reference(std::string_view text);
std::string to_text(const ModelReference& reference);  // "digits:3", "digits"

// What a model was made with, which decides how it is served. Custom: only an entry script can serve it.
enum class ModelFramework { kCustom, kTensorflow, kKeras, kOnnx, kPytorch, kScikitLearn };

std::string_view to_text(ModelFramework framework);  // "scikit-learn"
// Takes Azure's spellings too (TensorFlow, TfKeras, ScikitLearn, Multi, ...), whatever the case.
Result<ModelFramework> model_framework_from_text(std::string_view text);
// The curated environment that has what serving it needs; empty for kCustom.
std::string_view curated_environment_of(ModelFramework framework);

// What an attempt's order says about one model. Its files are placed in models/NAME/VERSION/ of the attempt's
// folder before the job starts.
struct ModelOrder {
  std::string name;
  int version = 1;
  std::string manifest;  // digest
  ModelFramework framework = ModelFramework::kCustom;
  uint64_t files = 0;
  uint64_t bytes = 0;
  bool operator==(const ModelOrder&) const = default;
};

json::object to_json(const ModelOrder& order);
Result<ModelOrder> model_order_from_json(const json::object& object);

// The models a job names: at most 32, each a reference.
Status check_job_models(const std::vector<std::string>& models);

}  // namespace slipway

// The signatures of a SavedModel, read from its saved_model.pb without TensorFlow: what names its inputs and
// outputs have, which tensors of the graph those are, and their types and shapes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serving/tensor.h"

namespace slipway::serving {

struct SavedTensor {
  TensorSpec spec;        // under the signature's name for it
  std::string operation;  // of the graph
  int output = 0;         // of that operation
};

struct SavedSignature {
  std::string name;
  std::string method;
  std::vector<SavedTensor> inputs;   // by name
  std::vector<SavedTensor> outputs;  // by name
};

struct SavedModel {
  std::vector<std::string> tags;           // of the graph to load
  std::vector<SavedSignature> signatures;  // serving_default first, then by name
};

// The graph with the tag "serve", else the first. kInvalidArgument for bytes that are none, and for a model
// without a signature that can be served.
Result<SavedModel> read_saved_model(std::string_view bytes);

}  // namespace slipway::serving

// `--optimize onnx`: a model converted to ONNX, which computes quicker, and used only where its answers are
// the same.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "serving/conversion/conversion.h"
#include "serving/model.h"

namespace slipway::serving {

struct Optimisation {
  Conversion conversion;
  ConversionPlace place;
  std::string sample;  // a body of /score to compare the answers to; empty: random numbers
  std::function<Result<std::unique_ptr<Model>>(const std::filesystem::path& file)> load;  // an ONNX file
};

// The model with the signatures of `original`, computed by ONNX Runtime where the answers agree; where none
// does, or the model cannot be converted, the original, and a warning says why. An error where something is
// missing that the user can install, or the sample does not fit the model.
Result<std::unique_ptr<Model>> optimise(std::unique_ptr<Model> original, const Optimisation& optimisation);

}  // namespace slipway::serving

#include "models/environment.h"

#include <algorithm>
#include <span>

#include "runs/run_environment.h"
#include "runs/run_table.h"

namespace slipway::models {
namespace {

std::span<const std::string_view> packages_of(ModelFramework framework) {
  static constexpr std::string_view kTensorflow[] = {"tensorflow", "tensorflow-cpu", "tensorflow-gpu",
                                                     "tensorflow-intel", "tf-nightly"};
  static constexpr std::string_view kOnnx[] = {"onnxruntime", "onnxruntime-gpu"};
  static constexpr std::string_view kTorch[] = {"torch"};
  static constexpr std::string_view kScikitLearn[] = {"scikit-learn"};
  switch (framework) {
    case ModelFramework::kTensorflow:
    case ModelFramework::kKeras: return kTensorflow;
    case ModelFramework::kOnnx: return kOnnx;
    case ModelFramework::kPytorch: return kTorch;
    case ModelFramework::kScikitLearn: return kScikitLearn;
    case ModelFramework::kCustom: break;
  }
  return {};
}

// What the user keeps themselves lists no packages: what the model was made in is taken to have its
// framework.
Result<bool> has_framework(store::Reader& reader, const runs::Run& run, ModelFramework framework) {
  SLIPWAY_ASSIGN(const auto environment, runs::load_run_environment(reader, run));
  if (!environment) return false;
  SLIPWAY_ASSIGN(const auto resolved,
                 runs::resolve_for(reader, run.workspace, environment->reference, &*environment));
  if (resolved.environment.definition.user_managed) return true;
  SLIPWAY_ASSIGN(const auto packages, runs::packages_of_run(reader, run));
  return std::ranges::any_of(packages_of(framework), [&](std::string_view package) {
    return packages.contains(std::string(package));
  });
}

}  // namespace

Result<std::string> serving_environment(store::Reader& reader, const ModelVersion& model) {
  if (!model.environment.empty()) return model.environment;
  std::string curated(curated_environment_of(model.framework));
  if (!model.run || curated.empty()) return curated;
  const auto run = runs::load_run(reader, model.workspace, *model.run);
  if (!run || run->type != runs::RunType::kJob) return curated;
  SLIPWAY_ASSIGN(const bool usable, has_framework(reader, *run, model.framework));
  return usable ? run->job.environment : curated;
}

}  // namespace slipway::models

#include "serving/load.h"

#include <fmt/format.h>

#include "base/log.h"
#include "serving/model_files.h"
#include "serving/runtimes/onnx_runtime.h"
#include "serving/runtimes/runtime_model.h"
#include "serving/runtimes/tensorflow_runtime.h"
#include "serving/runtimes/worker_model.h"

namespace slipway::serving {
namespace {

constexpr size_t kMaxTrialElements = 1 << 24;

double milliseconds_since(Monotonic start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Zeros of the smallest shape the model takes; nullopt where that cannot be told.
std::optional<Tensor> made_up(const TensorSpec& spec) {
  if (!spec.shape) return std::nullopt;
  Tensor tensor{.type = spec.type, .shape = *spec.shape, .elements = {}, .text = nullptr};
  for (int64_t& dimension : tensor.shape) dimension = std::max<int64_t>(dimension, 1);
  const auto count = element_count(tensor.shape, kMaxTrialElements);
  if (!count) return std::nullopt;
  tensor.elements = Elements(*count * size_of(spec.type));
  std::fill_n(tensor.elements.data(), tensor.elements.size(), '\0');
  if (spec.type == DataType::kBytes)
    for (size_t i = 0; i < *count; ++i) tensor.elements.as<SlipwayBytes>()[i] = {"", 0};
  return tensor;
}

// Runs the first signature: once to warm up, once to see how long it takes.
Status try_out(Model& model, Microseconds& took) {
  if (model.signatures().empty()) return {};
  const Signature& signature = model.signatures().front();
  std::vector<Tensor> inputs;
  std::vector<SlipwayTensor> views;
  for (const TensorSpec& spec : signature.inputs) {
    auto tensor = made_up(spec);
    if (!tensor) return {};
    inputs.push_back(std::move(*tensor));
  }
  for (size_t i = 0; i < inputs.size(); ++i) views.push_back(inputs[i].view(signature.inputs[i].name));
  for (int i = 0; i < 2; ++i) {
    const Monotonic start = std::chrono::steady_clock::now();
    const auto outputs = model.run(0, views, start + std::chrono::minutes(5));
    took = std::chrono::steady_clock::now() - start;
    if (outputs) continue;
    if (outputs.error().code == ErrorCode::kUnsupported) return fail(outputs.error());
    // Zeros may just not be what the model can compute with.
    log_warning("serving.trial_run_failed", {{"error", outputs.error()}});
    return {};
  }
  return {};
}

Result<std::unique_ptr<Model>> load_in_process(SlipwayRuntimeEntry entry, const Framework& framework,
                                               const std::string& platform, const ModelFiles& files,
                                               const LoadOptions& options) {
  SLIPWAY_ASSIGN(const std::string libraries, find_framework(framework, options.search));
  return load_with(*entry(SLIPWAY_RUNTIME_ABI), {.path = files.path.string(),
                                                 .library_folder = libraries,
                                                 .platform = platform,
                                                 .threads = options.threads,
                                                 .instances = options.instances});
}

// In processes of their own; `entry` is empty for a model that needs none.
Result<std::unique_ptr<Model>> load_in_workers(std::string kind, const std::filesystem::path& path,
                                               const std::string& entry, const LoadOptions& options) {
  const std::filesystem::path whole = std::filesystem::absolute(path);
  std::error_code gone;
  const bool folder = std::filesystem::is_directory(whole, gone);
  return start_workers({.kind = std::move(kind),
                        .path = whole.string(),
                        .entry = entry.empty() ? "" : std::filesystem::absolute(entry).string(),
                        .model_dir = folder ? whole.string() : whole.parent_path().string(),
                        .python = options.search.python,
                        .workers = options.workers,
                        .threads = options.threads,
                        .memory_bytes = options.worker_memory});
}

// The path of an entry script's model is whatever the script wants.
Result<ModelFiles> files_of(const LoadOptions& options) {
  if (options.entry.empty()) return find_model(options.path);
  SLIPWAY_ASSIGN(const ModelFiles script, find_model(options.entry));
  std::error_code gone;
  if (script.kind != ModelKind::kEntryScript)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is no Python script", options.entry),
                "name a .py file");
  if (!std::filesystem::exists(options.path, gone))
    return fail(ErrorCode::kNotFound, fmt::format("there is no file or folder {}", options.path),
                "name the model's file or folder");
  return ModelFiles{
      .kind = ModelKind::kEntryScript, .path = options.path, .name = script.name, .version = "1"};
}

Result<std::unique_ptr<Model>> load_kind(const ModelFiles& files, const LoadOptions& options) {
  switch (files.kind) {
    case ModelKind::kOnnx: return load_in_process(onnx_runtime, kOnnxRuntime, "onnx", files, options);
    case ModelKind::kSavedModel:
      return load_in_process(tensorflow_runtime, kTensorFlow, "tensorflow_savedmodel", files, options);
    case ModelKind::kPickle: return load_in_workers("scikit-learn", files.path, "", options);
    case ModelKind::kEntryScript:
      return load_in_workers("entry-script", files.path,
                             options.entry.empty() ? files.path.string() : options.entry, options);
  }
  return fail(ErrorCode::kUnsupported, "this kind of model cannot be served");
}

}  // namespace

Result<LoadedModel> load_model(const LoadOptions& options) {
  const Monotonic start = std::chrono::steady_clock::now();
  SLIPWAY_ASSIGN(const ModelFiles files, files_of(options));
  LoadedModel loaded;
  loaded.name = options.name.empty() ? files.name : options.name;
  loaded.version = options.version.empty() ? files.version : options.version;
  SLIPWAY_ASSIGN(loaded.model, load_kind(files, options));
  SLIPWAY_TRY(try_out(*loaded.model, loaded.first_run));
  loaded.load_milliseconds = milliseconds_since(start);
  return loaded;
}

}  // namespace slipway::serving

#include "serving/load.h"

#include <fmt/format.h>

#include <array>
#include <fstream>

#include "base/log.h"
#include "serving/conversion/conversion.h"
#include "serving/conversion/optimise.h"
#include "serving/libtorch/libtorch.h"
#include "serving/model_files.h"
#include "serving/runtimes/external_runtime.h"
#include "serving/runtimes/onnx_runtime.h"
#include "serving/runtimes/runtime_model.h"
#include "serving/runtimes/tensorflow_runtime.h"
#include "serving/runtimes/torch_file.h"
#include "serving/runtimes/worker_model.h"
#include "serving/runtimes/worker_source.h"

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
                                               const std::string& platform, const std::filesystem::path& path,
                                               const LoadOptions& options) {
  SLIPWAY_ASSIGN(const std::string libraries, find_framework(framework, options.search));
  return load_with(*entry(SLIPWAY_RUNTIME_ABI), {.path = path.string(),
                                                 .library_folder = libraries,
                                                 .platform = platform,
                                                 .threads = options.threads,
                                                 .instances = options.instances});
}

Result<std::unique_ptr<Model>> load_saved_model(const std::filesystem::path& path,
                                                const LoadOptions& options) {
  return load_in_process(tensorflow_runtime, kTensorFlow, "tensorflow_savedmodel", path, options);
}

ConversionPlace place_of(const LoadOptions& options) {
  ConversionPlace place;
  place.python = options.search.python;
  place.folder = options.converted;
  place.memory_bytes = options.worker_memory;
  place.places = options.places;
  return place;
}

// By way of a SavedModel that is made of it, which `files` then names.
Result<std::unique_ptr<Model>> load_converted(const std::string& kind, ModelFiles& files,
                                              const LoadOptions& options) {
  SLIPWAY_ASSIGN(files.path,
                 convert({.kind = kind, .source = files.path, .signature = ""}, place_of(options)));
  files.kind = ModelKind::kSavedModel;
  return load_saved_model(files.path, options);
}

// Whether a file begins as Keras' formats do, a zip archive or HDF5: the step in Python takes seconds to
// tell.
Status check_keras(const std::filesystem::path& path) {
  std::array<char, 4> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  const std::string_view sign(begin.data(), begin.size());
  if (sign == "\x89HDF" || sign == "PK\x03\x04") return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is no Keras file, or not all of it", path.string()),
              "save the model again: model.save('digits.keras')");
}

Result<std::unique_ptr<Model>> load_keras(ModelFiles& files, const LoadOptions& options) {
  SLIPWAY_TRY(check_keras(files.path));
  return load_converted("keras", files, options);
}

// What processes of their own are told of a model; the rest depends on its kind.
WorkerOrder worker_order(const char* kind, const char* platform, const std::filesystem::path& path,
                         const LoadOptions& options) {
  const std::filesystem::path whole = std::filesystem::absolute(path);
  std::error_code gone;
  const bool folder = std::filesystem::is_directory(whole, gone);
  WorkerOrder order;
  order.kind = kind;
  order.platform = platform;
  order.path = whole.string();
  order.model_dir = folder ? whole.string() : whole.parent_path().string();
  order.python = options.search.python;
  order.workers = options.workers;
  order.threads = options.threads;
  order.memory_bytes = options.worker_memory;
  order.places = options.places;
  return order;
}

Result<std::unique_ptr<Model>> load_entry(const ModelFiles& files, const LoadOptions& options) {
  WorkerOrder order = worker_order("entry-script", "python", files.path, options);
  order.entry =
      std::filesystem::absolute(options.entry.empty() ? files.path : std::filesystem::path(options.entry));
  return start_workers(order);
}

// TorchScript runs in this process where it can. Other programs are their maker's machine code, which has no
// place here, or what libtorch cannot run without Python.
Result<std::unique_ptr<Model>> load_torch(const std::filesystem::path& path, const LoadOptions& options) {
  SLIPWAY_ASSIGN(const TorchContent content, inspect_torch_file(path));
  if (content == TorchContent::kScript) {
    auto model = load_with_libtorch({.path = path,
                                     .search = options.search,
                                     .converted = options.converted,
                                     .threads = options.threads,
                                     .instances = options.instances});
    if (model) return model;
    log_warning("serving.not_in_process", {{"model", path.string()}, {"error", model.error()}});
  }
  const char* kind = content == TorchContent::kScript     ? "torchscript"
                     : content == TorchContent::kExported ? "torch-export"
                                                          : "torch-compiled";
  WorkerOrder order = worker_order(kind, "pytorch", path, options);
  order.code = kTorchModelSource;
  return start_workers(order);
}

// By a runtime of the user's own.
Result<std::unique_ptr<Model>> load_with_library(const std::filesystem::path& path,
                                                 const LoadOptions& options) {
  SLIPWAY_ASSIGN(const SlipwayRuntime* runtime, load_runtime(options.runtime));
  return load_with(*runtime, {.path = path.string(),
                              .library_folder = options.search.runtime_folder,
                              .platform = runtime->name,
                              .threads = options.threads,
                              .instances = options.instances});
}

// The path of an entry script's model is whatever the script wants.
Result<ModelFiles> files_of(const LoadOptions& options) {
  if (!options.runtime.empty()) return any_model(options.path);
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

Result<std::unique_ptr<Model>> load_kind(ModelFiles& files, const LoadOptions& options) {
  switch (files.kind) {
    case ModelKind::kOnnx: return load_in_process(onnx_runtime, kOnnxRuntime, "onnx", files.path, options);
    case ModelKind::kSavedModel: return load_saved_model(files.path, options);
    case ModelKind::kKeras: return load_keras(files, options);
    case ModelKind::kCheckpoint: return load_converted("checkpoint", files, options);
    case ModelKind::kTorch: return load_torch(files.path, options);
    case ModelKind::kPickle:
      return start_workers(worker_order("scikit-learn", "sklearn", files.path, options));
    case ModelKind::kEntryScript: return load_entry(files, options);
    case ModelKind::kOther: return load_with_library(files.path, options);
  }
  return fail(ErrorCode::kUnsupported, "this kind of model cannot be served");
}

// A SavedModel that loads and does not run, as tf.saved_model.save() makes them of Keras 3 models: its
// variables are not where the graph looks for them, and become constants.
Result<std::unique_ptr<Model>> load_repaired(ModelFiles& files, const Error& why,
                                             const LoadOptions& options) {
  log_warning("serving.model_does_not_run", {{"model", files.path.string()}, {"error", why}});
  auto repaired = load_converted("saved-model", files, options);
  if (repaired) return repaired;
  return fail(why.code, fmt::format("{}; and {}", why.message, repaired.error().message),
              "save it with model.export('digits')");
}

Result<std::unique_ptr<Model>> load_optimised(std::unique_ptr<Model> model, const ModelFiles& files,
                                              const LoadOptions& options) {
  if (files.kind != ModelKind::kSavedModel && files.kind != ModelKind::kPickle)
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} is no TensorFlow, Keras or scikit-learn model", files.path.string()),
                "leave --optimize out");
  const bool tensorflow = files.kind == ModelKind::kSavedModel;
  const Optimisation order{.conversion = {.kind = tensorflow ? "tensorflow-onnx" : "scikit-learn-onnx",
                                          .source = files.path,
                                          .signature = model->signatures().front().name},
                           .place = place_of(options),
                           .sample = options.sample,
                           .load = [&options](const std::filesystem::path& file) {
                             return load_in_process(onnx_runtime, kOnnxRuntime, "onnx", file, options);
                           }};
  return optimise(std::move(model), order);
}

}  // namespace

Result<LoadedModel> load_model(const LoadOptions& options) {
  const Monotonic start = std::chrono::steady_clock::now();
  SLIPWAY_ASSIGN(ModelFiles files, files_of(options));
  LoadedModel loaded;
  loaded.name = options.name.empty() ? files.name : options.name;
  loaded.version = options.version.empty() ? files.version : options.version;
  SLIPWAY_ASSIGN(loaded.model, load_kind(files, options));
  Status tried = try_out(*loaded.model, loaded.first_run);
  if (!tried && files.kind == ModelKind::kSavedModel) {
    loaded.model.reset();
    SLIPWAY_ASSIGN(loaded.model, load_repaired(files, tried.error(), options));
    tried = try_out(*loaded.model, loaded.first_run);
  }
  SLIPWAY_TRY(tried);
  if (options.onnx) {
    SLIPWAY_ASSIGN(loaded.model, load_optimised(std::move(loaded.model), files, options));
    SLIPWAY_TRY(try_out(*loaded.model, loaded.first_run));
  }
  loaded.load_milliseconds = milliseconds_since(start);
  return loaded;
}

}  // namespace slipway::serving

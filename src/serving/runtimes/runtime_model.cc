#include "serving/runtimes/runtime_model.h"

#include <fmt/format.h>

namespace slipway::serving {
namespace {

ErrorCode code_of(int32_t failure) {
  switch (failure) {
    case SLIPWAY_FAILED_INVALID:
    case SLIPWAY_FAILED_MODEL: return ErrorCode::kInvalidArgument;
    case SLIPWAY_FAILED_NO_LIBRARY: return ErrorCode::kUnavailable;
    default: return ErrorCode::kInternal;
  }
}

// A runtime that fails and fills in nothing is not to show what was on the stack.
void clear(SlipwayFailure& failure) {
  failure.code = SLIPWAY_FAILED_INTERNAL;
  failure.message[0] = '\0';
}

std::vector<TensorSpec> read_specs(const SlipwayTensorSpec* specs, size_t count) {
  std::vector<TensorSpec> read;
  for (size_t i = 0; i < count; ++i) {
    TensorSpec& spec = read.emplace_back();
    spec.name = specs[i].name;
    spec.type = static_cast<DataType>(specs[i].type);
    if (specs[i].rank >= 0) spec.shape.emplace(specs[i].shape, specs[i].shape + specs[i].rank);
  }
  return read;
}

bool has_rows(const std::vector<TensorSpec>& specs) {
  for (const TensorSpec& spec : specs)
    if (!spec.shape || spec.shape->empty() || spec.shape->front() >= 0) return false;
  return !specs.empty();
}

class RuntimeOutputs final : public Outputs {
 public:
  RuntimeOutputs(const SlipwayRuntime& runtime, SlipwayResult* result) : runtime_(runtime), result_(result) {
    size_t count = 0;
    const SlipwayTensor* tensors = runtime_.tensors(result_, &count);
    tensors_.reserve(count);
    for (size_t i = 0; i < count; ++i)
      tensors_.push_back({.name = tensors[i].name,
                          .type = static_cast<DataType>(tensors[i].type),
                          .shape = {tensors[i].shape, static_cast<size_t>(tensors[i].rank)},
                          .data = static_cast<const char*>(tensors[i].data),
                          .bytes = tensors[i].bytes});
  }
  ~RuntimeOutputs() override { runtime_.release(result_); }

 private:
  const SlipwayRuntime& runtime_;
  SlipwayResult* result_;
};

class RuntimeModel final : public Model {
 public:
  RuntimeModel(const SlipwayRuntime& runtime, SlipwayModel* model, const RuntimeLoad& load)
      : runtime_(runtime), model_(model), platform_(load.platform), instances_(load.instances) {
    size_t count = 0;
    const SlipwaySignature* found = runtime_.signatures(model_, &count);
    for (size_t i = 0; i < count; ++i) {
      Signature& signature = signatures_.emplace_back();
      signature.name = found[i].name;
      signature.method = found[i].method;
      signature.inputs = read_specs(found[i].inputs, found[i].input_count);
      signature.outputs = read_specs(found[i].outputs, found[i].output_count);
      signature.batchable = has_rows(signature.inputs) && has_rows(signature.outputs);
    }
  }
  ~RuntimeModel() override { runtime_.unload(model_); }

  std::string_view runtime() const override { return runtime_.name; }
  std::string_view platform() const override { return platform_; }
  const std::vector<Signature>& signatures() const override { return signatures_; }
  unsigned instances() const override { return instances_; }

  Result<std::unique_ptr<Outputs>> run(size_t signature, std::span<const SlipwayTensor> inputs,
                                       Monotonic) override {
    SlipwayFailure failure;
    clear(failure);
    SlipwayResult* result = runtime_.run(model_, signature, inputs.data(), inputs.size(), &failure);
    if (result == nullptr && failure.code == SLIPWAY_FAILED_MODEL)
      return fail(ErrorCode::kUnsupported, fmt::format("the model cannot run: {}", failure.message),
                  "save the model in another way");
    if (result == nullptr)
      return fail(code_of(failure.code), fmt::format("the model could not compute: {}", failure.message),
                  "compare the inputs with the model's metadata");
    return std::make_unique<RuntimeOutputs>(runtime_, result);
  }

 private:
  const SlipwayRuntime& runtime_;
  SlipwayModel* model_;
  const std::string platform_;
  const unsigned instances_;
  std::vector<Signature> signatures_;
};

}  // namespace

Result<std::unique_ptr<Model>> load_with(const SlipwayRuntime& runtime, const RuntimeLoad& load) {
  SlipwayFailure failure;
  clear(failure);
  const SlipwayLoad order{
      .path = load.path.c_str(), .library_folder = load.library_folder.c_str(), .threads = load.threads};
  SlipwayModel* model = runtime.load(&order, &failure);
  if (model == nullptr)
    return fail(code_of(failure.code),
                fmt::format("the model {} cannot be served: {}", load.path, failure.message),
                failure.code == SLIPWAY_FAILED_MODEL ? "check the file, or export the model again" : "");
  return std::make_unique<RuntimeModel>(runtime, model, load);
}

}  // namespace slipway::serving

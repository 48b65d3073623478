#include "serving/runtimes/onnx_runtime.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serving/runtimes/failure.h"
#include "serving/runtimes/onnx_api.h"
#include "serving/runtimes/onnx_files.h"
#include "serving/runtimes/spec_list.h"
#include "serving/tensor.h"

namespace slipway::serving {
namespace {

using ort::Api;

struct OnnxModel {
  Api api;
  ort::Session* session = nullptr;
  ort::MemoryInfo* memory = nullptr;
  SpecList inputs;
  SpecList outputs;
  std::vector<const char*> input_names;
  std::vector<const char*> output_names;
  SlipwaySignature signature{};

  ~OnnxModel() {
    if (!api) return;
    api.release(ort::kReleaseSession, session);
    api.release(ort::kReleaseMemoryInfo, memory);
  }
};

struct OnnxResult {
  const OnnxModel* model = nullptr;
  std::vector<ort::Value*> values;
  std::vector<std::vector<int64_t>> shapes;
  std::deque<std::string> text;  // of string tensors; a deque does not move what it holds
  std::vector<std::vector<SlipwayBytes>> strings;
  std::vector<SlipwayTensor> tensors;

  ~OnnxResult() {
    for (ort::Value* value : values) model->api.release(ort::kReleaseValue, value);
  }
};

OnnxModel* mine(SlipwayModel* model) {
  return reinterpret_cast<OnnxModel*>(model);
}
const OnnxModel* mine(const SlipwayModel* model) {
  return reinterpret_cast<const OnnxModel*>(model);
}

// From ONNX's element types (TensorProto.DataType) and back. 0: not a type of ours.
constexpr std::array<int32_t, 14> kFromOnnx{0,
                                            SLIPWAY_FP32,
                                            SLIPWAY_UINT8,
                                            SLIPWAY_INT8,
                                            SLIPWAY_UINT16,
                                            SLIPWAY_INT16,
                                            SLIPWAY_INT32,
                                            SLIPWAY_INT64,
                                            SLIPWAY_BYTES,
                                            SLIPWAY_BOOL,
                                            SLIPWAY_FP16,
                                            SLIPWAY_FP64,
                                            SLIPWAY_UINT32,
                                            SLIPWAY_UINT64};

int to_onnx(int32_t type) {
  for (size_t i = 1; i < kFromOnnx.size(); ++i)
    if (kFromOnnx[i] == type) return static_cast<int>(i);
  return 0;
}

int32_t from_onnx(int type) {
  return type > 0 && type < static_cast<int>(kFromOnnx.size()) ? kFromOnnx[static_cast<size_t>(type)] : 0;
}

// Turns a status into a failure and frees it. True: it was one.
bool failed(const Api& api, ort::Status* status, SlipwayFailure* failure, int32_t code) {
  if (status == nullptr) return false;
  const bool invalid = api.code(status) == ort::kInvalidArgument;
  set_failure(failure, code == SLIPWAY_FAILED_INTERNAL && invalid ? SLIPWAY_FAILED_INVALID : code,
              api.message(status));
  api.release(ort::kReleaseStatus, status);
  return true;
}

// One environment a process, as ONNX Runtime wants it; it lives until the end.
struct Library {
  Api api;
  ort::Env* env = nullptr;
};

std::string find_library(const std::filesystem::path& folder) {
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(folder, gone))
    if (entry.path().filename().string().starts_with("libonnxruntime.so")) return entry.path();
  return {};
}

Library open_library(const char* folder, SlipwayFailure* failure) {
  const std::string file = find_library(folder);
  if (file.empty()) {
    set_failure(failure, SLIPWAY_FAILED_NO_LIBRARY,
                fmt::format("there is no libonnxruntime.so in {}", folder));
    return {};
  }
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* base =
      handle == nullptr ? nullptr : reinterpret_cast<ort::GetApiBase>(::dlsym(handle, "OrtGetApiBase"));
  if (base == nullptr) {
    set_failure(failure, SLIPWAY_FAILED_NO_LIBRARY,
                fmt::format("{} cannot be loaded: {}", file, ::dlerror()));
    return {};
  }
  Library library{.api = Api(base()->get_api(ort::kApiVersion))};
  if (!library.api) {
    set_failure(failure, SLIPWAY_FAILED_NO_LIBRARY,
                fmt::format("{} is ONNX Runtime {}; 1.15 or newer is needed", file, base()->version()));
    return {};
  }
  if (failed(library.api, library.api(ort::kCreateEnv, ort::kLogErrors, "slipway", &library.env), failure,
             SLIPWAY_FAILED_INTERNAL))
    return {};
  return library;
}

const Library* library_of(const char* folder, SlipwayFailure* failure) {
  static std::mutex mutex;
  static Library library;
  const std::lock_guard lock(mutex);
  if (!library.api) library = open_library(folder, failure);
  return library.api ? &library : nullptr;
}

using Options = std::unique_ptr<ort::SessionOptions, std::function<void(ort::SessionOptions*)>>;

Options make_options(const Api& api, int threads, SlipwayFailure* failure) {
  ort::SessionOptions* made = nullptr;
  const auto step = [&](ort::Status* status) {
    return !failed(api, status, failure, SLIPWAY_FAILED_INTERNAL);
  };
  if (!step(api(ort::kCreateSessionOptions, &made))) return {};
  Options options(made, [api](ort::SessionOptions* held) { api.release(ort::kReleaseSessionOptions, held); });
  // Threads that spin between runs would take the cores that parse requests.
  const bool set = step(api(ort::kSetIntraOpThreads, made, threads)) &&
                   step(api(ort::kSetInterOpThreads, made, 1)) &&
                   step(api(ort::kAddConfigEntry, made, "session.intra_op.allow_spinning", "0")) &&
                   step(api(ort::kAddConfigEntry, made, "session.inter_op.allow_spinning", "0"));
  if (!set) options.reset();
  return options;
}

bool read_tensor_info(const Api& api, const ort::TypeInfo* type, const char* name, SpecList& list,
                      SlipwayFailure* failure) {
  int kind = 0;
  if (failed(api, api(ort::kOnnxType, type, &kind), failure, SLIPWAY_FAILED_MODEL)) return false;
  if (kind != ort::kTypeTensor) {
    set_failure(
        failure, SLIPWAY_FAILED_MODEL,
        fmt::format("'{}' is a sequence or a map, and only tensors can be served; a scikit-learn model is "
                    "converted without them by options={{'zipmap': False}}",
                    name));
    return false;
  }
  const ort::TensorInfo* info = nullptr;  // belongs to `type`
  int element = 0;
  size_t rank = 0;
  const auto step = [&](ort::Status* status) { return !failed(api, status, failure, SLIPWAY_FAILED_MODEL); };
  if (!step(api(ort::kCastToTensorInfo, type, &info)) || !step(api(ort::kElementType, info, &element)) ||
      !step(api(ort::kDimensionCount, info, &rank)))
    return false;
  std::vector<int64_t> shape(rank);
  if (!step(api(ort::kDimensions, info, shape.data(), rank))) return false;
  if (from_onnx(element) == 0) {
    set_failure(failure, SLIPWAY_FAILED_MODEL,
                fmt::format("'{}' has elements of ONNX's type {}, which cannot be served", name, element));
    return false;
  }
  list.add(name, from_onnx(element), static_cast<int32_t>(rank), std::move(shape));
  return true;
}

bool read_side(OnnxModel& model, bool input, SlipwayFailure* failure) {
  const Api& api = model.api;
  const auto step = [&](ort::Status* status) { return !failed(api, status, failure, SLIPWAY_FAILED_MODEL); };
  size_t count = 0;
  ort::Allocator* allocator = nullptr;
  if (!step(api(input ? ort::kInputCount : ort::kOutputCount, model.session, &count)) ||
      !step(api(ort::kDefaultAllocator, &allocator)))
    return false;
  SpecList& list = input ? model.inputs : model.outputs;
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    ort::TypeInfo* type = nullptr;
    if (!step(api(input ? ort::kInputName : ort::kOutputName, model.session, i, allocator, &name)))
      return false;
    const bool typed = step(api(input ? ort::kInputTypeInfo : ort::kOutputTypeInfo, model.session, i, &type));
    const bool read = typed && read_tensor_info(api, type, name, list, failure);
    api.release(ort::kReleaseTypeInfo, type);
    (void)step(api(ort::kAllocatorFree, allocator, static_cast<void*>(name)));
    if (!read) return false;
  }
  auto& names = input ? model.input_names : model.output_names;
  for (size_t i = 0; i < count; ++i) names.push_back(list[i].name);
  return true;
}

SlipwayModel* load(const SlipwayLoad* load, SlipwayFailure* failure) {
  if (const auto safe = check_onnx_files(load->path); !safe)
    return set_failure(failure, SLIPWAY_FAILED_MODEL, safe.error().message);
  const Library* library = library_of(load->library_folder, failure);
  if (library == nullptr) return nullptr;
  auto model = std::make_unique<OnnxModel>();
  model->api = library->api;
  const Api& api = model->api;
  const Options options = make_options(api, load->threads, failure);
  if (!options) return nullptr;
  if (failed(api, api(ort::kCreateSession, library->env, load->path, options.get(), &model->session), failure,
             SLIPWAY_FAILED_MODEL))
    return nullptr;
  if (failed(api, api(ort::kCreateCpuMemoryInfo, ort::kArenaAllocator, ort::kDefaultMemory, &model->memory),
             failure, SLIPWAY_FAILED_INTERNAL))
    return nullptr;
  if (!read_side(*model, true, failure) || !read_side(*model, false, failure)) return nullptr;
  model->signature = {.name = "serving_default",
                      .method = "tensorflow/serving/predict",
                      .inputs = model->inputs.specs().data(),
                      .input_count = model->inputs.size(),
                      .outputs = model->outputs.specs().data(),
                      .output_count = model->outputs.size()};
  return reinterpret_cast<SlipwayModel*>(model.release());
}

// The value of one input: over the caller's memory, or, for strings, filled.
ort::Value* make_value(const OnnxModel& model, const SlipwayTensor& tensor, SlipwayFailure* failure) {
  const Api& api = model.api;
  ort::Value* value = nullptr;
  const auto rank = static_cast<size_t>(tensor.rank);
  const int type = to_onnx(tensor.type);
  if (tensor.type != SLIPWAY_BYTES) {
    failed(api,
           api(ort::kCreateTensorWithData, model.memory, const_cast<void*>(tensor.data), tensor.bytes,
               tensor.shape, rank, type, &value),
           failure, SLIPWAY_FAILED_INTERNAL);
    return value;
  }
  const auto* given = static_cast<const SlipwayBytes*>(tensor.data);
  ort::Allocator* allocator = nullptr;
  if (failed(api, api(ort::kDefaultAllocator, &allocator), failure, SLIPWAY_FAILED_INTERNAL) ||
      failed(api, api(ort::kCreateTensor, allocator, tensor.shape, rank, type, &value), failure,
             SLIPWAY_FAILED_INTERNAL))
    return nullptr;
  for (size_t i = 0; i < tensor.bytes / sizeof(SlipwayBytes); ++i) {
    char* buffer = nullptr;
    if (failed(api, api(ort::kResizedString, value, i, given[i].size, &buffer), failure,
               SLIPWAY_FAILED_INTERNAL)) {
      api.release(ort::kReleaseValue, value);
      return nullptr;
    }
    std::copy_n(given[i].data, given[i].size, buffer);
  }
  return value;
}

bool read_strings(OnnxResult& result, const ort::Value* value, size_t count, SlipwayFailure* failure) {
  const Api& api = result.model->api;
  size_t length = 0;
  if (failed(api, api(ort::kStringTensorLength, value, &length), failure, SLIPWAY_FAILED_INTERNAL))
    return false;
  std::string& text = result.text.emplace_back(length, '\0');
  std::vector<size_t> offsets(count);
  if (failed(api,
             api(ort::kStringTensorContent, value, static_cast<void*>(text.data()), length, offsets.data(),
                 count),
             failure, SLIPWAY_FAILED_INTERNAL))
    return false;
  auto& strings = result.strings.emplace_back(count);
  for (size_t i = 0; i < count; ++i)
    strings[i] = {text.data() + offsets[i], (i + 1 < count ? offsets[i + 1] : length) - offsets[i]};
  return true;
}

bool read_output(OnnxResult& result, size_t index, SlipwayFailure* failure) {
  const Api& api = result.model->api;
  ort::Value* value = result.values[index];
  const SlipwayTensorSpec& spec = result.model->outputs[index];
  const auto step = [&](ort::Status* status) {
    return !failed(api, status, failure, SLIPWAY_FAILED_INTERNAL);
  };
  ort::TensorInfo* info = nullptr;
  size_t rank = 0;
  if (!step(api(ort::kTensorTypeAndShape, value, &info))) return false;
  std::vector<int64_t>& shape = result.shapes.emplace_back();
  bool read = step(api(ort::kDimensionCount, info, &rank));
  shape.resize(rank);
  read = read && step(api(ort::kDimensions, info, shape.data(), rank));
  api.release(ort::kReleaseTensorInfo, info);
  if (!read) return false;
  size_t count = 1;
  for (const int64_t dimension : shape) count *= static_cast<size_t>(dimension);
  void* data = nullptr;
  size_t element = 0;
  if (spec.type == SLIPWAY_BYTES) {
    if (!read_strings(result, value, count, failure)) return false;
    data = result.strings.back().data();
    element = sizeof(SlipwayBytes);
  } else {
    if (!step(api(ort::kTensorData, value, &data))) return false;
    element = size_of(static_cast<DataType>(spec.type));
  }
  result.tensors.push_back({.name = spec.name,
                            .type = spec.type,
                            .rank = static_cast<int32_t>(rank),
                            .shape = shape.data(),
                            .data = data,
                            .bytes = count * element});
  return true;
}

SlipwayResult* run(SlipwayModel* opaque, size_t, const SlipwayTensor* inputs, size_t count,
                   SlipwayFailure* failure) {
  const OnnxModel* model = mine(opaque);
  const Api& api = model->api;
  std::vector<ort::Value*> values;
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    values.push_back(make_value(*model, inputs[i], failure));
    if (values.back() == nullptr) break;
  }
  auto result = std::make_unique<OnnxResult>();
  result->model = model;
  result->values.resize(model->outputs.size());
  const bool made = values.size() == count && (values.empty() || values.back() != nullptr);
  const bool ran =
      made && !failed(api,
                      api(ort::kRun, model->session, static_cast<const void*>(nullptr),
                          model->input_names.data(), values.data(), count, model->output_names.data(),
                          model->outputs.size(), result->values.data()),
                      failure, SLIPWAY_FAILED_INTERNAL);
  for (ort::Value* value : values) api.release(ort::kReleaseValue, value);
  if (!ran) return nullptr;
  result->shapes.reserve(result->values.size());
  for (size_t i = 0; i < result->values.size(); ++i)
    if (!read_output(*result, i, failure)) return nullptr;
  return reinterpret_cast<SlipwayResult*>(result.release());
}

constexpr SlipwayRuntime kTable{
    .abi = SLIPWAY_RUNTIME_ABI,
    .name = "onnxruntime",
    .load = load,
    .unload = [](SlipwayModel* model) { delete mine(model); },
    .signatures =
        [](const SlipwayModel* model, size_t* count) {
          *count = 1;
          return &mine(model)->signature;
        },
    .run = run,
    .tensors =
        [](const SlipwayResult* result, size_t* count) {
          const auto& tensors = reinterpret_cast<const OnnxResult*>(result)->tensors;
          *count = tensors.size();
          return tensors.data();
        },
    .release = [](SlipwayResult* result) { delete reinterpret_cast<OnnxResult*>(result); },
};

}  // namespace

const SlipwayRuntime* onnx_runtime(uint32_t host_abi) {
  return host_abi == SLIPWAY_RUNTIME_ABI ? &kTable : nullptr;
}

}  // namespace slipway::serving

#include "serving/runtimes/tensorflow_runtime.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "serving/runtimes/failure.h"
#include "serving/runtimes/mapped_file.h"
#include "serving/runtimes/saved_model.h"
#include "serving/runtimes/spec_list.h"
#include "serving/runtimes/tensorflow_api.h"

namespace slipway::serving {
namespace {

struct LoadedSignature {
  std::string name;
  std::string method;
  SpecList inputs;
  SpecList outputs;
  std::vector<tf::Output> input_places;
  std::vector<tf::Output> output_places;
};

struct TensorFlowModel {
  const tf::Api* api = nullptr;
  tf::Graph* graph = nullptr;
  tf::Session* session = nullptr;
  std::deque<LoadedSignature> loaded;
  std::vector<SlipwaySignature> signatures;

  ~TensorFlowModel() {
    tf::Status* status = api->new_status();
    if (session != nullptr) {
      api->close_session(session, status);
      api->delete_session(session, status);
    }
    if (graph != nullptr) api->delete_graph(graph);
    api->delete_status(status);
  }
};

struct TensorFlowResult {
  const tf::Api* api = nullptr;
  std::vector<tf::Tensor*> values;
  std::deque<std::vector<int64_t>> shapes;
  std::deque<std::vector<SlipwayBytes>> texts;
  std::vector<SlipwayTensor> tensors;

  ~TensorFlowResult() {
    for (tf::Tensor* value : values)
      if (value != nullptr) api->delete_tensor(value);
  }
};

class Status {
 public:
  explicit Status(const tf::Api& api) : api_(api), status_(api.new_status()) {}
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;
  ~Status() { api_.delete_status(status_); }

  tf::Status* get() { return status_; }
  bool ok() const { return api_.code(status_) == tf::kOk; }
  std::nullptr_t fail_with(SlipwayFailure* failure) const {
    const int code = api_.code(status_);
    const bool broken = code == tf::kFailedPrecondition || code == tf::kNotFound;
    return set_failure(failure,
                       code == tf::kInvalidArgument ? SLIPWAY_FAILED_INVALID
                       : broken                     ? SLIPWAY_FAILED_MODEL
                                                    : SLIPWAY_FAILED_INTERNAL,
                       api_.message(status_));
  }

 private:
  const tf::Api& api_;
  tf::Status* status_;
};

// TensorFlow's numbers for the types, by ours.
int to_tensorflow(int32_t type) {
  constexpr int kNumbers[] = {0, 10, 4, 17, 22, 23, 6, 5, 3, 9, 19, 1, 2, 7};
  return kNumbers[type];
}

bool resolve(TensorFlowModel& model, const std::vector<SavedTensor>& saved, SpecList& specs,
             std::vector<tf::Output>& places) {
  for (const SavedTensor& tensor : saved) {
    tf::Operation* operation = model.api->operation_by_name(model.graph, tensor.operation.c_str());
    if (operation == nullptr || tensor.output >= model.api->operation_outputs(operation)) return false;
    places.push_back({operation, tensor.output});
    specs.add(tensor.spec.name, static_cast<int32_t>(tensor.spec.type),
              tensor.spec.shape ? static_cast<int32_t>(tensor.spec.shape->size()) : -1,
              tensor.spec.shape.value_or(Shape()));
  }
  return true;
}

void add_signatures(TensorFlowModel& model, const SavedModel& saved) {
  for (const SavedSignature& signature : saved.signatures) {
    LoadedSignature& loaded = model.loaded.emplace_back();
    loaded.name = signature.name;
    loaded.method = signature.method;
    if (resolve(model, signature.inputs, loaded.inputs, loaded.input_places) &&
        resolve(model, signature.outputs, loaded.outputs, loaded.output_places)) {
      model.signatures.push_back({.name = loaded.name.c_str(),
                                  .method = loaded.method.c_str(),
                                  .inputs = loaded.inputs.specs().data(),
                                  .input_count = loaded.inputs.size(),
                                  .outputs = loaded.outputs.specs().data(),
                                  .output_count = loaded.outputs.size()});
    } else {
      model.loaded.pop_back();  // it names what the graph has not
    }
  }
}

tf::Session* open_session(const tf::Api& api, const SlipwayLoad& load, const std::vector<std::string>& tags,
                          tf::Graph* graph, SlipwayFailure* failure) {
  Status status(api);
  const std::unique_ptr<tf::SessionOptions, void (*)(tf::SessionOptions*)> options(
      api.new_session_options(), api.delete_session_options);
  // A ConfigProto: intra_op_parallelism_threads, inter_op_parallelism_threads 1, use_per_session_threads.
  const unsigned char config[] = {
      0x10, static_cast<unsigned char>(std::min(load.threads, 127)), 0x28, 1, 0x48, 1};
  api.set_config(options.get(), config, sizeof config, status.get());
  std::vector<const char*> names;
  for (const std::string& tag : tags) names.push_back(tag.c_str());
  tf::Session* session =
      status.ok() ? api.load_saved_model(options.get(), nullptr, load.path, names.data(),
                                         static_cast<int>(names.size()), graph, nullptr, status.get())
                  : nullptr;
  if (!status.ok()) {
    status.fail_with(failure);
    failure->code = SLIPWAY_FAILED_MODEL;
    return nullptr;
  }
  return session;
}

SlipwayModel* load(const SlipwayLoad* load, SlipwayFailure* failure) {
  const auto file = MappedFile::open(std::string(load->path) + "/saved_model.pb");
  if (!file) return set_failure(failure, SLIPWAY_FAILED_MODEL, file.error().message);
  const auto saved = read_saved_model(file->bytes());
  if (!saved)
    return set_failure(failure, SLIPWAY_FAILED_MODEL,
                       fmt::format("{}; {}", saved.error().message, saved.error().next));
  const auto api = tf::open_library(load->library_folder);
  if (!api) return set_failure(failure, SLIPWAY_FAILED_NO_LIBRARY, api.error().message);
  auto model = std::make_unique<TensorFlowModel>();
  model->api = *api;
  model->graph = model->api->new_graph();
  model->session = open_session(*model->api, *load, saved->tags, model->graph, failure);
  if (model->session == nullptr) return nullptr;
  add_signatures(*model, *saved);
  if (model->signatures.empty())
    return set_failure(failure, SLIPWAY_FAILED_MODEL,
                       "its signatures name tensors that its graph does not have");
  return reinterpret_cast<SlipwayModel*>(model.release());
}

tf::Tensor* make_tensor(const tf::Api& api, const SlipwayTensor& from) {
  const size_t count = from.bytes / sizeof(SlipwayBytes);
  const bool text = from.type == SLIPWAY_BYTES;
  tf::Tensor* tensor = api.allocate_tensor(to_tensorflow(from.type), from.shape, from.rank,
                                           text ? count * tf::kTextSize : from.bytes);
  if (tensor == nullptr) return nullptr;
  char* data = static_cast<char*>(api.tensor_data(tensor));
  if (!text) {
    if (from.bytes > 0) std::memcpy(data, from.data, from.bytes);
    return tensor;
  }
  const auto* given = static_cast<const SlipwayBytes*>(from.data);
  for (size_t i = 0; i < count; ++i) {
    auto* place = reinterpret_cast<tf::Text*>(data + i * tf::kTextSize);
    api.text_init(place);
    api.text_copy(place, given[i].data, given[i].size);
  }
  return tensor;
}

// TensorFlow leaves the texts of a tensor that the C API made to whoever made it.
void free_input(const tf::Api& api, tf::Tensor* tensor, const SlipwayTensor& from) {
  if (tensor == nullptr) return;
  if (from.type == SLIPWAY_BYTES) {
    char* data = static_cast<char*>(api.tensor_data(tensor));
    for (size_t i = 0; i < from.bytes / sizeof(SlipwayBytes); ++i)
      api.text_free(reinterpret_cast<tf::Text*>(data + i * tf::kTextSize));
  }
  api.delete_tensor(tensor);
}

bool add_output(TensorFlowResult& result, const SlipwayTensorSpec& spec, const tf::Tensor* value) {
  const tf::Api& api = *result.api;
  if (api.tensor_type(value) != to_tensorflow(spec.type)) return false;
  std::vector<int64_t>& shape = result.shapes.emplace_back();
  for (int i = 0; i < api.rank(value); ++i) shape.push_back(api.dimension(value, i));
  SlipwayTensor tensor{.name = spec.name,
                       .type = spec.type,
                       .rank = static_cast<int32_t>(shape.size()),
                       .shape = shape.data(),
                       .data = api.tensor_data(value),
                       .bytes = api.tensor_bytes(value)};
  if (spec.type == SLIPWAY_BYTES) {
    size_t count = 1;
    for (const int64_t size : shape) count *= static_cast<size_t>(size);
    auto& texts = result.texts.emplace_back(count);
    const char* data = static_cast<const char*>(tensor.data);
    for (size_t i = 0; i < count; ++i) {
      const auto* text = reinterpret_cast<const tf::Text*>(data + i * tf::kTextSize);
      texts[i] = {api.text_data(text), api.text_size(text)};
    }
    tensor.data = texts.data();
    tensor.bytes = count * sizeof(SlipwayBytes);
  }
  result.tensors.push_back(tensor);
  return true;
}

SlipwayResult* run(SlipwayModel* opaque, size_t signature, const SlipwayTensor* inputs, size_t count,
                   SlipwayFailure* failure) {
  const auto& model = *reinterpret_cast<const TensorFlowModel*>(opaque);
  const tf::Api& api = *model.api;
  const LoadedSignature& loaded = model.loaded[signature];
  std::vector<tf::Tensor*> values;
  bool made = true;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(make_tensor(api, inputs[i]));
    made = made && values.back() != nullptr;
  }
  auto result = std::make_unique<TensorFlowResult>();
  result->api = &api;
  result->values.resize(loaded.outputs.size());
  Status status(api);
  if (made)
    api.run(model.session, nullptr, loaded.input_places.data(), values.data(), static_cast<int>(count),
            loaded.output_places.data(), result->values.data(), static_cast<int>(result->values.size()),
            nullptr, 0, nullptr, status.get());
  for (size_t i = 0; i < count; ++i) free_input(api, values[i], inputs[i]);
  if (!made)
    return set_failure(failure, SLIPWAY_FAILED_INTERNAL, "there is not enough memory for the inputs");
  if (!status.ok()) return status.fail_with(failure);
  for (size_t i = 0; i < result->values.size(); ++i)
    if (!add_output(*result, loaded.outputs[i], result->values[i]))
      return set_failure(
          failure, SLIPWAY_FAILED_MODEL,
          fmt::format("its output '{}' is of another type than it says", loaded.outputs[i].name));
  return reinterpret_cast<SlipwayResult*>(result.release());
}

constexpr SlipwayRuntime kTable{
    .abi = SLIPWAY_RUNTIME_ABI,
    .name = "tensorflow",
    .load = load,
    .unload = [](SlipwayModel* model) { delete reinterpret_cast<TensorFlowModel*>(model); },
    .signatures =
        [](const SlipwayModel* model, size_t* count) {
          const auto& signatures = reinterpret_cast<const TensorFlowModel*>(model)->signatures;
          *count = signatures.size();
          return signatures.data();
        },
    .run = run,
    .tensors =
        [](const SlipwayResult* result, size_t* count) {
          const auto& tensors = reinterpret_cast<const TensorFlowResult*>(result)->tensors;
          *count = tensors.size();
          return tensors.data();
        },
    .release = [](SlipwayResult* result) { delete reinterpret_cast<TensorFlowResult*>(result); },
};

}  // namespace

const SlipwayRuntime* tensorflow_runtime(uint32_t host_abi) {
  return host_abi == SLIPWAY_RUNTIME_ABI ? &kTable : nullptr;
}

}  // namespace slipway::serving

#include "serving/runtimes/tensorflow_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>

namespace slipway::serving::tf {
namespace {

std::string find_library(const std::string& folder) {
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(folder, gone))
    if (entry.path().filename().string().starts_with("libtensorflow_cc.so")) return entry.path();
  return {};
}

class Finder {
 public:
  explicit Finder(void* library) : library_(library) {}

  template <class Function>
  void operator()(Function*& target, const char* name) {
    target = reinterpret_cast<Function*>(::dlsym(library_, name));
    if (target == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

Result<Api> open(const std::string& folder) {
  const std::string file = find_library(folder);
  if (file.empty())
    return fail(ErrorCode::kUnavailable, fmt::format("there is no libtensorflow_cc.so in {}", folder));
  // Small networks are quicker without; the user's own setting stays. Both are read when the library loads.
  ::setenv("TF_ENABLE_ONEDNN_OPTS", "0", 0);
  ::setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0);
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail(ErrorCode::kUnavailable, fmt::format("{} cannot be loaded: {}", file, ::dlerror()));
  Api api{};
  Finder find(library);
  find(api.new_status, "TF_NewStatus");
  find(api.delete_status, "TF_DeleteStatus");
  find(api.code, "TF_GetCode");
  find(api.message, "TF_Message");
  find(api.new_session_options, "TF_NewSessionOptions");
  find(api.delete_session_options, "TF_DeleteSessionOptions");
  find(api.set_config, "TF_SetConfig");
  find(api.new_graph, "TF_NewGraph");
  find(api.delete_graph, "TF_DeleteGraph");
  find(api.operation_by_name, "TF_GraphOperationByName");
  find(api.operation_outputs, "TF_OperationNumOutputs");
  find(api.load_saved_model, "TF_LoadSessionFromSavedModel");
  find(api.close_session, "TF_CloseSession");
  find(api.delete_session, "TF_DeleteSession");
  find(api.run, "TF_SessionRun");
  find(api.allocate_tensor, "TF_AllocateTensor");
  find(api.delete_tensor, "TF_DeleteTensor");
  find(api.tensor_type, "TF_TensorType");
  find(api.rank, "TF_NumDims");
  find(api.dimension, "TF_Dim");
  find(api.tensor_bytes, "TF_TensorByteSize");
  find(api.tensor_data, "TF_TensorData");
  find(api.text_init, "TF_StringInit");
  find(api.text_copy, "TF_StringCopy");
  find(api.text_data, "TF_StringGetDataPointer");
  find(api.text_size, "TF_StringGetSize");
  find(api.text_free, "TF_StringDealloc");
  if (!find.missing().empty())
    return fail(
        ErrorCode::kUnavailable,
        fmt::format("{} has no function {}; TensorFlow 2.4 or newer is needed", file, find.missing()));
  return api;
}

}  // namespace

Result<const Api*> open_library(const char* folder) {
  static std::mutex mutex;
  static std::optional<Api> opened;
  const std::lock_guard lock(mutex);
  if (!opened) {
    SLIPWAY_ASSIGN(opened, open(folder));
  }
  return &*opened;
}

}  // namespace slipway::serving::tf

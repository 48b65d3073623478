// The part of ONNX Runtime's C API that the server uses, declared from its documentation.
//
// OrtGetApiBase gives a table that never shrinks or changes its order: new functions are added behind the old
// ones, and GetApi(version) says whether the library has those of a version. So a slot's number is as stable
// as a function's name, and the library of any later release fits. All slots below exist in release 1.15,
// whose version is asked for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slipway::serving::ort {

constexpr uint32_t kApiVersion = 15;

struct Status;
struct Env;
struct Session;
struct SessionOptions;
struct Value;
struct TypeInfo;
struct TensorInfo;
struct MemoryInfo;
struct Allocator;

struct ApiBase {
  const void* const* (*get_api)(uint32_t version);
  const char* (*version)();
};
using GetApiBase = const ApiBase* (*)();

enum Slot : size_t {
  kGetErrorCode = 1,
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetIntraOpThreads = 24,
  kSetInterOpThreads = 25,
  kInputCount = 30,
  kOutputCount = 31,
  kInputTypeInfo = 33,
  kOutputTypeInfo = 34,
  kInputName = 36,
  kOutputName = 37,
  kCreateTensor = 48,
  kCreateTensorWithData = 49,
  kTensorData = 51,
  kStringTensorLength = 53,
  kStringTensorContent = 54,
  kCastToTensorInfo = 55,
  kOnnxType = 56,
  kElementType = 60,
  kDimensionCount = 61,
  kDimensions = 62,
  kTensorTypeAndShape = 65,
  kValueType = 67,
  kCreateCpuMemoryInfo = 69,
  kAllocatorFree = 76,
  kDefaultAllocator = 78,
  kReleaseStatus = 93,
  kReleaseMemoryInfo = 94,
  kReleaseSession = 95,
  kReleaseValue = 96,
  kReleaseTypeInfo = 98,
  kReleaseTensorInfo = 99,
  kReleaseSessionOptions = 100,
  kAddConfigEntry = 130,
  kResizedString = 252,
};

// The functions by slot. `call<Signature>(slot)(arguments...)`.
class Api {
 public:
  Api() = default;
  explicit Api(const void* const* table) : table_(table) {}
  explicit operator bool() const { return table_ != nullptr; }

  // Those that return a Status*: null is success.
  template <class... Arguments>
  Status* operator()(Slot slot, Arguments... arguments) const {
    return reinterpret_cast<Status* (*)(Arguments...)>(const_cast<void*>(table_[slot]))(arguments...);
  }
  template <class T>
  void release(Slot slot, T* object) const {
    if (object != nullptr) reinterpret_cast<void (*)(T*)>(const_cast<void*>(table_[slot]))(object);
  }
  const char* message(const Status* status) const {
    return reinterpret_cast<const char* (*)(const Status*)>(const_cast<void*>(table_[kGetErrorMessage]))(
        status);
  }
  int code(const Status* status) const {
    return reinterpret_cast<int (*)(const Status*)>(const_cast<void*>(table_[kGetErrorCode]))(status);
  }

 private:
  const void* const* table_ = nullptr;
};

constexpr int kTypeTensor = 1;       // of ONNXType
constexpr int kInvalidArgument = 2;  // of OrtErrorCode
constexpr int kArenaAllocator = 1;   // of OrtAllocatorType
constexpr int kDefaultMemory = 0;    // of OrtMemType
constexpr int kLogErrors = 3;        // of OrtLoggingLevel

}  // namespace slipway::serving::ort

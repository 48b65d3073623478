// Tensors on their way through the server, and what a model says about its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serving/runtimes/slipway_runtime.h"

namespace slipway::serving {

enum class DataType : uint8_t {
  kBool = SLIPWAY_BOOL,
  kUint8 = SLIPWAY_UINT8,
  kUint16 = SLIPWAY_UINT16,
  kUint32 = SLIPWAY_UINT32,
  kUint64 = SLIPWAY_UINT64,
  kInt8 = SLIPWAY_INT8,
  kInt16 = SLIPWAY_INT16,
  kInt32 = SLIPWAY_INT32,
  kInt64 = SLIPWAY_INT64,
  kFp16 = SLIPWAY_FP16,
  kFp32 = SLIPWAY_FP32,
  kFp64 = SLIPWAY_FP64,
  kBytes = SLIPWAY_BYTES,
};

std::string_view to_text(DataType type);  // "FP32", as Open Inference has it
std::optional<DataType> data_type_from_text(std::string_view text);
size_t size_of(DataType type);  // of one element; of kBytes: of its SlipwayBytes
bool is_floating(DataType type);

using Shape = std::vector<int64_t>;
std::string to_text(std::span<const int64_t> shape);  // "[-1, 784]"
// How many elements; nullopt for a negative dimension or a product beyond `limit`.
std::optional<size_t> element_count(std::span<const int64_t> shape, size_t limit);

struct TensorSpec {
  std::string name;
  DataType type = DataType::kFp32;
  std::optional<Shape> shape;  // -1: any; nullopt: any rank
};

struct Signature {
  std::string name;
  std::string method;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  // Whether every input and output has a first dimension of any size: then rows of several requests can be
  // run together.
  bool batchable = false;
};

// The elements of a tensor, owned. Aligned for every type.
class Elements {
 public:
  Elements() = default;
  explicit Elements(size_t bytes)
      : data_(std::make_unique_for_overwrite<std::max_align_t[]>((bytes + sizeof(std::max_align_t) - 1) /
                                                                 sizeof(std::max_align_t))),
        size_(bytes) {}

  char* data() { return reinterpret_cast<char*>(data_.get()); }
  const char* data() const { return reinterpret_cast<const char*>(data_.get()); }
  size_t size() const { return size_; }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_.get());
  }

 private:
  std::unique_ptr<std::max_align_t[]> data_;
  size_t size_ = 0;
};

// An input. `text` holds what the SlipwayBytes of a kBytes tensor point into.
struct Tensor {
  DataType type = DataType::kFp32;
  Shape shape;
  Elements elements;
  std::unique_ptr<std::string> text;

  // Valid while this tensor and `name` are.
  SlipwayTensor view(const std::string& name) const;
};

// An output, borrowed from whoever computed it.
struct TensorView {
  std::string_view name;
  DataType type = DataType::kFp32;
  std::span<const int64_t> shape;
  const char* data = nullptr;
  size_t bytes = 0;

  size_t count() const { return bytes / size_of(type); }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data), bytes / sizeof(T)};
  }
  // The rows from `first` on; the tensor's first dimension counts rows. `shape_of_rows` is filled for it.
  TensorView rows(int64_t first, int64_t count, Shape& shape_of_rows) const;
};

// Whether the tensor is what the model asks for; the message names the input and both shapes.
Status check_fits(const TensorSpec& spec, DataType type, std::span<const int64_t> shape);

// The bits of a half-precision number, and back.
float half_to_float(uint16_t half);
uint16_t float_to_half(float value);

}  // namespace slipway::serving

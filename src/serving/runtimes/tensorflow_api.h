// The functions of TensorFlow's C API that the server uses, declared from its documentation and found by name
// in the libraries of the Python package. The API is stable across releases of TensorFlow 2.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace slipway::serving::tf {

struct Status;
struct Buffer;
struct Graph;
struct Operation;
struct Session;
struct SessionOptions;
struct Tensor;
struct Text;  // TF_TString: kTextSize bytes in a tensor

constexpr size_t kTextSize = 24;

struct Output {
  Operation* operation;
  int index;
};

// Codes of a status.
constexpr int kOk = 0;
constexpr int kInvalidArgument = 3;
constexpr int kNotFound = 5;
constexpr int kFailedPrecondition = 9;

struct Api {
  Status* (*new_status)();
  void (*delete_status)(Status*);
  int (*code)(const Status*);
  const char* (*message)(const Status*);

  SessionOptions* (*new_session_options)();
  void (*delete_session_options)(SessionOptions*);
  void (*set_config)(SessionOptions*, const void* proto, size_t length, Status*);

  Graph* (*new_graph)();
  void (*delete_graph)(Graph*);
  Operation* (*operation_by_name)(Graph*, const char*);
  int (*operation_outputs)(Operation*);

  Session* (*load_saved_model)(const SessionOptions*, const Buffer* run_options, const char* folder,
                               const char* const* tags, int tag_count, Graph*, Buffer* meta_graph, Status*);
  void (*close_session)(Session*, Status*);
  void (*delete_session)(Session*, Status*);
  void (*run)(Session*, const Buffer* run_options, const Output* inputs, Tensor* const* input_values,
              int input_count, const Output* outputs, Tensor** output_values, int output_count,
              const Operation* const* targets, int target_count, Buffer* metadata, Status*);

  Tensor* (*allocate_tensor)(int type, const int64_t* shape, int rank, size_t bytes);
  void (*delete_tensor)(Tensor*);
  int (*tensor_type)(const Tensor*);
  int (*rank)(const Tensor*);
  int64_t (*dimension)(const Tensor*, int index);
  size_t (*tensor_bytes)(const Tensor*);
  void* (*tensor_data)(const Tensor*);

  void (*text_init)(Text*);
  void (*text_copy)(Text*, const char* source, size_t size);
  const char* (*text_data)(const Text*);
  size_t (*text_size)(const Text*);
  void (*text_free)(Text*);
};

// Loads the libraries once for the process; later calls give the same. kUnavailable says what is missing.
Result<const Api*> open_library(const char* folder);

}  // namespace slipway::serving::tf

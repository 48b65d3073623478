// The C interface between the model server and a runtime: what loads a model's files and computes with them.
// A runtime is one table of functions, returned by one entry function; ONNX Runtime and TensorFlow are built
// into the server this way, and a shared library can bring another.
//
// Rules
//   1. The version below changes with every change of this file. A runtime returns null for a host version it
//      does not know, and the host refuses a table of another version.
//   2. No function throws or ends the process for bad input or a bad model: it fills in the failure.
//   3. `run` may be called from several threads at once; `load` and `unload` are called by one.
//   4. Names, shapes and data that cross the border belong to the side that made them: a signature lives
//   until
//      `unload`, a result until `release`, inputs until `run` returns.
#ifndef SLIPWAY_RUNTIME_H
#define SLIPWAY_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLIPWAY_RUNTIME_ABI 1U

enum {
  SLIPWAY_BOOL = 1,
  SLIPWAY_UINT8,
  SLIPWAY_UINT16,
  SLIPWAY_UINT32,
  SLIPWAY_UINT64,
  SLIPWAY_INT8,
  SLIPWAY_INT16,
  SLIPWAY_INT32,
  SLIPWAY_INT64,
  SLIPWAY_FP16,
  SLIPWAY_FP32,
  SLIPWAY_FP64,
  SLIPWAY_BYTES,
};

typedef struct SlipwayBytes {
  const char* data;
  size_t size;
} SlipwayBytes;

typedef struct SlipwayTensor {
  const char* name;
  int32_t type;
  int32_t rank;
  const int64_t* shape;
  const void* data;  // row-major; of SLIPWAY_BYTES: SlipwayBytes[]
  size_t bytes;      // of data
} SlipwayTensor;

typedef struct SlipwayTensorSpec {
  const char* name;
  int32_t type;
  int32_t rank;          // -1: any
  const int64_t* shape;  // -1: any
} SlipwayTensorSpec;

typedef struct SlipwaySignature {
  const char* name;    // "serving_default"
  const char* method;  // "tensorflow/serving/predict"; may be empty
  const SlipwayTensorSpec* inputs;
  size_t input_count;
  const SlipwayTensorSpec* outputs;
  size_t output_count;
} SlipwaySignature;

enum {
  SLIPWAY_FAILED_INVALID = 1,  // the caller's input does not fit
  SLIPWAY_FAILED_MODEL,        // the model's files are missing, damaged or beyond this runtime
  SLIPWAY_FAILED_NO_LIBRARY,   // the framework's own libraries are not where they were looked for
  SLIPWAY_FAILED_INTERNAL,     // anything else
};

typedef struct SlipwayFailure {
  int32_t code;
  char message[1536];
} SlipwayFailure;

typedef struct SlipwayLoad {
  const char* path;            // the model's file or folder
  const char* library_folder;  // where the framework's shared libraries are
  int32_t threads;             // for one run; 1: the calling thread alone
} SlipwayLoad;

typedef struct SlipwayModel SlipwayModel;
typedef struct SlipwayResult SlipwayResult;

typedef struct SlipwayRuntime {
  uint32_t abi;      // SLIPWAY_RUNTIME_ABI
  const char* name;  // "onnxruntime"

  // Null with a failure.
  SlipwayModel* (*load)(const SlipwayLoad* load, SlipwayFailure* failure);
  void (*unload)(SlipwayModel* model);
  // The first one is served where a client names none.
  const SlipwaySignature* (*signatures)(const SlipwayModel* model, size_t* count);

  // `inputs` in the order of the signature. Null with a failure.
  SlipwayResult* (*run)(SlipwayModel* model, size_t signature, const SlipwayTensor* inputs, size_t count,
                        SlipwayFailure* failure);
  // In the order of the signature's outputs.
  const SlipwayTensor* (*tensors)(const SlipwayResult* result, size_t* count);
  void (*release)(SlipwayResult* result);
} SlipwayRuntime;

// The one function a runtime must have. In a shared library its name is `slipway_runtime`.
typedef const SlipwayRuntime* (*SlipwayRuntimeEntry)(uint32_t host_abi);

#ifdef __cplusplus
}
#endif

#endif

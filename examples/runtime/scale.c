/* A runtime for `slipway serve` in one file: its models are text files with a number, by which every input is multiplied.
 *
 *   cc -shared -fPIC -O2 -I src/serving/runtimes -o libscale.so examples/runtime/scale.c
 *   echo 3 > triple.txt
 *   slipway serve triple.txt --runtime ./libscale.so
 *   curl -d '{"instances": [[1, 2]]}' localhost:8501/v1/models/triple:predict
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slipway_runtime.h"

struct SlipwayModel {
  float factor;
};

struct SlipwayResult {
  SlipwayTensor tensor;
  int64_t shape[2];
  float values[];
};

/* Rows of any number of columns. */
static const int64_t kShape[] = {-1, -1};
static const SlipwayTensorSpec kInput = {"x", SLIPWAY_FP32, 2, kShape};
static const SlipwayTensorSpec kOutput = {"y", SLIPWAY_FP32, 2, kShape};
static const SlipwaySignature kSignature = {"serving_default", "tensorflow/serving/predict", &kInput, 1, &kOutput, 1};

static void* failed(SlipwayFailure* failure, int32_t code, const char* message) {
  failure->code = code;
  snprintf(failure->message, sizeof failure->message, "%s", message);
  return NULL;
}

static SlipwayModel* load(const SlipwayLoad* order, SlipwayFailure* failure) {
  FILE* file = fopen(order->path, "r");
  if (file == NULL) return failed(failure, SLIPWAY_FAILED_MODEL, strerror(errno));
  SlipwayModel* model = malloc(sizeof *model);
  const int read = model == NULL ? 0 : fscanf(file, "%f", &model->factor);
  fclose(file);
  if (read == 1) return model;
  free(model);
  return failed(failure, SLIPWAY_FAILED_MODEL, "the file holds no number");
}

static void unload(SlipwayModel* model) {
  free(model);
}

static const SlipwaySignature* signatures(const SlipwayModel* model, size_t* count) {
  (void)model;
  *count = 1;
  return &kSignature;
}

/* Called from several threads at once: nothing is shared but the model, which does not change. */
static SlipwayResult* run(SlipwayModel* model, size_t signature, const SlipwayTensor* inputs, size_t count,
                          SlipwayFailure* failure) {
  if (signature != 0 || count != 1 || inputs[0].type != SLIPWAY_FP32 || inputs[0].rank != 2)
    return failed(failure, SLIPWAY_FAILED_INVALID, "one tensor of numbers in rows is wanted");
  SlipwayResult* result = malloc(sizeof *result + inputs[0].bytes);
  if (result == NULL) return failed(failure, SLIPWAY_FAILED_INTERNAL, "out of memory");
  memcpy(result->shape, inputs[0].shape, sizeof result->shape);
  const float* values = inputs[0].data;
  for (size_t i = 0; i < inputs[0].bytes / sizeof(float); ++i) result->values[i] = values[i] * model->factor;
  result->tensor = (SlipwayTensor){.name = "y",
                                   .type = SLIPWAY_FP32,
                                   .rank = 2,
                                   .shape = result->shape,
                                   .data = result->values,
                                   .bytes = inputs[0].bytes};
  return result;
}

static const SlipwayTensor* tensors(const SlipwayResult* result, size_t* count) {
  *count = 1;
  return &result->tensor;
}

static void release(SlipwayResult* result) {
  free(result);
}

static const SlipwayRuntime kRuntime = {SLIPWAY_RUNTIME_ABI, "scale", load, unload, signatures, run, tensors, release};

const SlipwayRuntime* slipway_runtime(uint32_t host_abi) {
  return host_abi == SLIPWAY_RUNTIME_ABI ? &kRuntime : NULL;
}

// The first byte says which call it is; the rest is its message, a ModelInferRequest or a PredictRequest.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "serving/protocols/grpc_open_inference.h"
#include "serving/protocols/grpc_tensorflow.h"
#include "serving/protocols/model_without_runs.h"

using namespace slipway;
using namespace slipway::serving;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static ModelWithoutRuns model;
  static Statistics statistics;
  static Batcher batcher(model, {}, 1, statistics);
  static const ServedModel served{
      .name = "", .version = "", .model = model, .batcher = batcher, .statistics = statistics};
  if (size == 0) return 0;
  const std::string_view message(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto inference =
      data[0] % 2 == 0 ? read_model_infer(served, message) : read_grpc_predict(served, message);
  if (inference && inference->inputs.size() != 3) std::abort();
  return 0;
}

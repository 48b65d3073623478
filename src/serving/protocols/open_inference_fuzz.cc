// The first two bytes say how much of the body is JSON; the rest is the body of an inference request with
// binary tensors, for a model with one input of each kind that is read in a way of its own.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "serving/protocols/model_without_runs.h"
#include "serving/protocols/open_inference.h"

using namespace slipway;
using namespace slipway::serving;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static ModelWithoutRuns model;
  static Statistics statistics;
  static Batcher batcher(model, {}, 1, statistics);
  static const ServedModel served{
      .name = "m", .version = "1", .model = model, .batcher = batcher, .statistics = statistics};
  if (size < 2) return 0;
  const std::string body(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t length = std::min<size_t>(data[0] | static_cast<size_t>(data[1]) << 8, body.size());
  const auto inference = read_open_inference(served, body, length);
  if (inference && inference->inputs.size() != 3) std::abort();
  return 0;
}

// The first byte says which call it is and how its message is compressed; the rest is the message, a
// ModelInferRequest or a PredictRequest: as it is, as a stream of gzip or deflate, or to be compressed here.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/grpc_compression.h"
#include "serving/protocols/grpc_call.h"
#include "serving/protocols/grpc_open_inference.h"
#include "serving/protocols/grpc_tensorflow.h"
#include "serving/protocols/model_without_runs.h"

using namespace slipway;
using namespace slipway::serving;

namespace {

constexpr uint64_t kLimit = 1 << 20;

std::string framed(std::string_view message, bool compressed) {
  std::string body = http::begin_grpc();
  body += message;
  http::end_grpc(body, compressed);
  return body;
}

// What comes out must be what went in, whichever way it went.
void check_compressing(std::string_view message, http::GrpcEncoding encoding, http::Request& request) {
  http::Response response = http::grpc_response(framed(message, false));
  request.body = std::get<std::string>(
      http::grpc_compressed(std::move(response), encoding, std::string(http::kGrpcEncodings)).body);
  std::string room;
  const auto read = http::grpc_message(request, kLimit, room);
  if (message.size() <= kLimit && (!read || *read != message)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static ModelWithoutRuns model;
  static Statistics statistics;
  static Batcher batcher(model, {}, 1, statistics);
  static const ServedModel served{.name = "",
                                  .version = "",
                                  .model = model,
                                  .batcher = batcher,
                                  .statistics = statistics,
                                  .body_limit = kLimit};
  if (size == 0) return 0;
  const std::string_view message(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool gzip = (data[0] & 2) != 0;
  http::Request request;
  request.headers["grpc-encoding"] = gzip ? "gzip" : "deflate";
  request.headers["grpc-accept-encoding"] = http::kGrpcEncodings;
  if ((data[0] & 4) != 0)
    check_compressing(message, gzip ? http::GrpcEncoding::kGzip : http::GrpcEncoding::kDeflate, request);
  else
    request.body = framed(message, (data[0] & 8) != 0);
  const auto inference = read_grpc(served, request, data[0] % 2 == 0 ? read_model_infer : read_grpc_predict);
  if (inference && inference->inputs.size() != 3) std::abort();
  return 0;
}

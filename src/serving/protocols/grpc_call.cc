#include "serving/protocols/grpc_call.h"

#include <fmt/format.h>

#include "http/grpc_compression.h"
#include "serving/wire.h"

namespace slipway::serving {
namespace {

constexpr uint64_t kQueryLimit = 64 << 10;  // names, read on an I/O thread and in part without a key

}  // namespace

std::unexpected<Error> no_message(std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} is no message of this call", what),
              "check which protocol the client speaks");
}

std::string_view field_text(std::string_view message, uint32_t number) {
  std::string_view text;
  WireReader reader(message);
  while (const auto field = reader.next())
    if (field->number == number) text = field->bytes;
  return text;
}

Result<Inference> read_grpc(const ServedModel& served, const http::Request& request, GrpcReader reader) {
  std::string room;
  SLIPWAY_ASSIGN(const std::string_view message, http::grpc_message(request, served.body_limit, room));
  SLIPWAY_ASSIGN(Inference inference, reader(served, message));
  inference.timeout = http::grpc_timeout(request);
  if (!room.empty()) {
    SLIPWAY_ASSIGN(const http::GrpcEncoding encoding, http::grpc_encoding(request));
    inference.respond = [respond = std::move(inference.respond), encoding,
                         accepted = request.header("grpc-accept-encoding")](const JobOutputs& outputs) {
      return http::grpc_compressed(respond(outputs), encoding, accepted.value_or(""));
    };
  }
  return inference;
}

void add_grpc_inference(http::Router& router, ServedModel& served, std::string path, const Protocol& protocol,
                        uint64_t body_limit) {
  router.add({http::Method::kPost, std::move(path), http::Access::kReader,
              [&served, &protocol](http::Request& request, http::Turn& turn, http::Answer answer) {
                infer(served, protocol, request, turn, std::move(answer));
              },
              body_limit});
}

void add_grpc_query(http::Router& router, ServedModel& served, std::string path, http::Access access,
                    GrpcQuery query) {
  router.add({http::Method::kPost, std::move(path), access,
              [&served, query](http::Request& request, http::Turn&, http::Answer answer) {
                std::string room;
                const auto message = http::grpc_message(request, kQueryLimit, room);
                if (!message) return answer(http::grpc_refusal(message.error()));
                auto response = query(served, *message);
                answer(response ? std::move(*response) : http::grpc_refusal(response.error()));
              }});
}

}  // namespace slipway::serving

#include "serving/protocols/grpc_call.h"

#include <fmt/format.h>

#include "serving/wire.h"

namespace slipway::serving {

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
  SLIPWAY_ASSIGN(const std::string_view message, http::grpc_message(request.body));
  SLIPWAY_ASSIGN(Inference inference, reader(served, message));
  inference.timeout = http::grpc_timeout(request);
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
                const auto message = http::grpc_message(request.body);
                if (!message) return answer(http::grpc_refusal(message.error()));
                auto response = query(served, *message);
                answer(response ? std::move(*response) : http::grpc_refusal(response.error()));
              }});
}

}  // namespace slipway::serving

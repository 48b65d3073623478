// Calls of gRPC as routes.
#pragma once

#include <string>
#include <string_view>

#include "http/grpc.h"
#include "http/router.h"
#include "serving/served_model.h"

namespace slipway::serving {

// The error of a message that cannot be read; `what` names it.
std::unexpected<Error> no_message(std::string_view what);
// The text of a field of `message`; empty when it has none. For messages of a few fields.
std::string_view field_text(std::string_view message, uint32_t number);

// A call that runs the model: how it is read from its message.
using GrpcReader = Result<Inference> (*)(const ServedModel&, std::string_view message);
Result<Inference> read_grpc(const ServedModel& served, const http::Request& request, GrpcReader reader);
template <GrpcReader reader>
Result<Inference> read_grpc_with(const ServedModel& served, const http::Request& request) {
  return read_grpc(served, request, reader);
}
template <GrpcReader reader>
constexpr Protocol grpc_inference{.read = read_grpc_with<reader>, .refuse = http::grpc_refusal};

// `protocol` and `served` outlive the route.
void add_grpc_inference(http::Router& router, ServedModel& served, std::string path, const Protocol& protocol,
                        uint64_t body_limit);

// A call that only looks.
using GrpcQuery = Result<http::Response> (*)(const ServedModel&, std::string_view message);
void add_grpc_query(http::Router& router, ServedModel& served, std::string path, http::Access access,
                    GrpcQuery query);

}  // namespace slipway::serving

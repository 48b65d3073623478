// How gRPC travels over HTTP: a body is one message behind five bytes, and how a call ended stands in headers
// named grpc-*, which HTTP/2 sends behind the body (http2.h). Over HTTP/1.1 they are plain headers, so that a
// proxy can carry calls either way.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace slipway::http {

bool is_grpc(const Request& request);

// The one message of a call. A compressed one is put into `room` (grpc_compression.h), others are part of the
// request. kInvalidArgument when the body is not exactly one message, kTooLarge when it would be larger than
// `limit`, kUnsupported when it is compressed in a way that is not known.
Result<std::string_view> grpc_message(const Request& request, uint64_t limit, std::string& room);
// Whether the request's message is marked as compressed: then it can be much larger than its body.
bool is_compressed_grpc(const Request& request);

// A message is appended to what `begin_grpc` gives; `grpc_response` then fills in its length, as `end_grpc`
// does.
constexpr size_t kGrpcPrefix = 5;  // a flag and the length, big-endian
std::string begin_grpc();
void end_grpc(std::string& framed, bool compressed);
Response grpc_response(std::string framed);
Response grpc_refusal(const Error& error);
// An answer of HTTP to a call: one with an error status and no grpc-status becomes the refusal that it means.
Response as_grpc(Response response);

// The header grpc-timeout: "100m" are 100 ms. nullopt without one, or with one that cannot be read.
std::optional<std::chrono::milliseconds> grpc_timeout(const Request& request);

}  // namespace slipway::http

// Messages of gRPC that are compressed, with gzip or with deflate (in zlib's form): the two that every client
// has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/message.h"

namespace slipway::http {

enum class GrpcEncoding { kIdentity, kDeflate, kGzip };

// What a client is told it may use.
constexpr std::string_view kGrpcEncodings = "identity, deflate, gzip";

// How the compressed messages of a call are written, by its header grpc-encoding; kIdentity without one.
// kUnsupported names those that are known.
Result<GrpcEncoding> grpc_encoding(const Request& request);

// What was compressed. It is measured before it is kept: kTooLarge for more than `limit` bytes, which take no
// memory; kInvalidArgument for what is not in that encoding, or is cut short.
Result<std::string> grpc_inflate(std::string_view compressed, GrpcEncoding encoding, uint64_t limit);

// An answer with one message, compressed as the client's own was; as it is when the client did not compress,
// does not say that it takes such answers, or when compressing would not pay.
Response grpc_compressed(Response response, GrpcEncoding encoding, const std::string& accepted);

}  // namespace slipway::http

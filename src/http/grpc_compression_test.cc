#include "http/grpc_compression.h"

#include <gtest/gtest.h>

#include "http/grpc.h"

namespace slipway::http {
namespace {

constexpr GrpcEncoding kEncodings[] = {GrpcEncoding::kDeflate, GrpcEncoding::kGzip};
const std::string kAll(kGrpcEncodings);

// The message of an answer, compressed.
std::string compressed(const std::string& message, GrpcEncoding encoding) {
  Response response = grpc_compressed(grpc_response(begin_grpc() + message), encoding, kAll);
  const std::string& body = std::get<std::string>(response.body);
  EXPECT_EQ(body.front(), 1) << "it was not compressed";
  EXPECT_TRUE(response.headers.contains("grpc-encoding"));
  return body.substr(kGrpcPrefix);
}

TEST(GrpcCompressionTest, WhatWasCompressedComesOutAgain) {
  for (const GrpcEncoding encoding : kEncodings)
    for (const size_t size : {size_t{1024}, size_t{32767}, size_t{32768}, size_t{32769}, size_t{3} << 20}) {
      std::string message;
      while (message.size() < size) message += std::to_string(message.size() % 977);
      message.resize(size);
      EXPECT_EQ(grpc_inflate(compressed(message, encoding), encoding, size).value(), message) << size;
    }
}

TEST(GrpcCompressionTest, AMessageMayBeAsLargeAsTheLimitAndNoLarger) {
  for (const GrpcEncoding encoding : kEncodings)
    for (const size_t size : {size_t{2000}, size_t{32768}, size_t{65536}, size_t{100'000}}) {
      const std::string stream = compressed(std::string(size, 'x'), encoding);
      EXPECT_TRUE(grpc_inflate(stream, encoding, size));
      EXPECT_EQ(grpc_inflate(stream, encoding, size - 1).error().code, ErrorCode::kTooLarge) << size;
    }
}

TEST(GrpcCompressionTest, WhatIsCutShortOrLongerOrAnotherFormIsRefused) {
  for (const GrpcEncoding encoding : kEncodings) {
    const std::string stream = compressed(std::string(100'000, 'x'), encoding);
    const GrpcEncoding other = encoding == GrpcEncoding::kGzip ? GrpcEncoding::kDeflate : GrpcEncoding::kGzip;
    for (size_t size = 0; size < stream.size(); ++size)
      EXPECT_FALSE(grpc_inflate(std::string_view(stream).substr(0, size), encoding, 1 << 20)) << size;
    EXPECT_EQ(grpc_inflate(stream + "x", encoding, 1 << 20).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(grpc_inflate(stream, other, 1 << 20).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(grpc_inflate("noise", encoding, 1 << 20).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(grpc_inflate(stream, GrpcEncoding::kIdentity, 1 << 20).error().code,
              ErrorCode::kInvalidArgument);
  }
}

TEST(GrpcCompressionTest, ACallNamesHowItIsCompressed) {
  Request request;
  EXPECT_EQ(grpc_encoding(request).value(), GrpcEncoding::kIdentity);
  request.headers["grpc-encoding"] = "gzip";
  EXPECT_EQ(grpc_encoding(request).value(), GrpcEncoding::kGzip);
  request.headers["grpc-encoding"] = "snappy";
  const auto unknown = grpc_encoding(request);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(grpc_refusal(unknown.error()).headers.at("grpc-accept-encoding"), kAll);
}

TEST(GrpcCompressionTest, AnAnswerStaysAsItIsWhereCompressingDoesNotPayOrIsNotTaken) {
  const auto sent = [](const std::string& message, GrpcEncoding encoding, const std::string& accepted) {
    Response response = grpc_compressed(grpc_response(begin_grpc() + message), encoding, accepted);
    return std::get<std::string>(response.body).substr(kGrpcPrefix) == message &&
           !response.headers.contains("grpc-encoding");
  };
  std::string noise;
  for (uint32_t state = 1; noise.size() < 5000; state = state * 1664525 + 1013904223)
    noise += static_cast<char>(state >> 24);
  EXPECT_TRUE(sent(noise, GrpcEncoding::kGzip, kAll));
  EXPECT_TRUE(sent("short", GrpcEncoding::kGzip, kAll));
  EXPECT_TRUE(sent(std::string(5000, 'x'), GrpcEncoding::kGzip, "identity"));
  EXPECT_TRUE(sent(std::string(5000, 'x'), GrpcEncoding::kIdentity, kAll));
}

}  // namespace
}  // namespace slipway::http

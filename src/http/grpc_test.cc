#include "http/grpc.h"

#include <gtest/gtest.h>

namespace slipway::http {
namespace {

Request call(std::string body) {
  Request request;
  request.body = std::move(body);
  return request;
}

TEST(GrpcTest, AMessageIsReadBehindItsLength) {
  const Response response = grpc_response(begin_grpc() + "abc");
  const std::string& body = std::get<std::string>(response.body);
  EXPECT_EQ(body, std::string("\0\0\0\0\x03", 5) + "abc");
  EXPECT_EQ(response.headers.at("grpc-status"), "0");
  std::string room;
  EXPECT_EQ(grpc_message(call(body), 3, room).value(), "abc");
  EXPECT_TRUE(room.empty());
}

TEST(GrpcTest, AnythingButOneMessageIsRefused) {
  std::string room;
  for (const std::string& body : {std::string(), std::string(4, '\0'), std::string("\0\0\0\0\x01", 5),
                                  std::string("\0\0\0\0\0x", 6), std::string("\0\xff\xff\xff\xff", 5)})
    EXPECT_EQ(grpc_message(call(body), 9, room).error().code, ErrorCode::kInvalidArgument);
}

TEST(GrpcTest, AFailureIsAStatusWithItsSentence) {
  const Response response = grpc_refusal(
      {.code = ErrorCode::kNotFound, .message = "100 % \xc3\xa4", .next = "look", .detail = "secret"});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("grpc-status"), "5");
  EXPECT_EQ(response.headers.at("grpc-message"), "100 %25 %C3%A4; look");
}

TEST(GrpcTest, TimeoutsAreRead) {
  const auto read = [](const std::string& text) {
    Request request;
    request.headers["grpc-timeout"] = text;
    return grpc_timeout(request);
  };
  using std::chrono::milliseconds;
  EXPECT_EQ(read("100m"), milliseconds(100));
  EXPECT_EQ(read("2S"), milliseconds(2000));
  EXPECT_EQ(read("1500u"), milliseconds(2));
  for (const char* text : {"", "m", "-1S", "1x", "x1S", "1234567890S"})
    EXPECT_EQ(read(text), std::nullopt) << text;
  EXPECT_EQ(grpc_timeout(Request()), std::nullopt);
}

}  // namespace
}  // namespace slipway::http

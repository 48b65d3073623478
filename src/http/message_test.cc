#include "http/message.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "http/outgoing.h"
#include "http/range.h"

namespace slipway::http {
namespace {

UniqueFd any_file() {
  return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

TEST(Range, IsAPartOfTheContent) {
  const auto part = [](std::string_view header, uint64_t size) {
    const ByteRange range = parse_range(header, size);
    return range.kind == ByteRange::Kind::kPart ? std::pair(range.offset, range.length)
                                                : std::pair(UINT64_MAX, UINT64_MAX);
  };
  EXPECT_EQ(part("bytes=0-0", 10), std::pair(0UL, 1UL));
  EXPECT_EQ(part("bytes=2-5", 10), std::pair(2UL, 4UL));
  EXPECT_EQ(part("bytes=4-", 10), std::pair(4UL, 6UL));
  EXPECT_EQ(part("bytes=-3", 10), std::pair(7UL, 3UL));
  EXPECT_EQ(part("bytes=-30", 10), std::pair(0UL, 10UL));
  EXPECT_EQ(part("bytes=5-99999999999999999999999", 10), std::pair(5UL, 5UL));
  EXPECT_EQ(part("bytes=0-18446744073709551615", 10), std::pair(0UL, 10UL));
}

TEST(Range, IsUnsatisfiableBeyondTheEnd) {
  for (const char* header : {"bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-"})
    EXPECT_EQ(parse_range(header, 10).kind, ByteRange::Kind::kUnsatisfiable) << header;
  EXPECT_EQ(parse_range("bytes=-1", 0).kind, ByteRange::Kind::kUnsatisfiable);
  EXPECT_EQ(parse_range("bytes=0-", 0).kind, ByteRange::Kind::kUnsatisfiable);
}

TEST(Range, ThatIsNotUnderstoodMeansTheWhole) {
  for (const char* header :
       {"", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=0-1,3-4", "lines=0-1", "bytes=+1-2"}) {
    const ByteRange range = parse_range(header, 10);
    EXPECT_EQ(range.kind, ByteRange::Kind::kWhole) << header;
    EXPECT_EQ(range.length, 10U);
  }
}

TEST(FileResponse, AnswersRangesAndConditions) {
  Request request;
  EXPECT_EQ(file_response(request, any_file(), 10, "text/plain", "tag").status, 200);
  request.headers["range"] = "bytes=2-3";
  const Response part = file_response(request, any_file(), 10, "text/plain", "tag");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.headers.at("Content-Range"), "bytes 2-3/10");
  EXPECT_EQ(part.headers.at("ETag"), "\"tag\"");
  request.headers["if-range"] = "\"another\"";
  EXPECT_EQ(file_response(request, any_file(), 10, "text/plain", "tag").status, 200);
  request.headers["if-range"] = "\"tag\"";
  EXPECT_EQ(file_response(request, any_file(), 10, "text/plain", "tag").status, 206);
  request.headers["range"] = "bytes=10-";
  const Response outside = file_response(request, any_file(), 10, "text/plain", "tag");
  EXPECT_EQ(outside.status, 416);
  EXPECT_EQ(outside.headers.at("Content-Range"), "bytes */10");
  request.headers["if-none-match"] = "\"tag\"";
  EXPECT_EQ(file_response(request, any_file(), 10, "text/plain", "tag").status, 304);
}

TEST(Request, ReadsWholeNumbersWithinBounds) {
  Request request;
  request.query = {
      {"limit", "50"}, {"bad", "5x"}, {"large", "101"}, {"huge", "99999999999999999999"}, {"empty", ""}};
  EXPECT_EQ(request.query_int("limit", 10, 1, 100), 50);
  EXPECT_EQ(request.query_int("absent", 10, 1, 100), 10);
  for (const char* name : {"bad", "large", "huge", "empty"})
    EXPECT_EQ(request.query_int(name, 10, 1, 100).error().code, ErrorCode::kInvalidArgument) << name;
}

TEST(ErrorResponse, CarriesTheCodeAndWhenToComeBack) {
  const Response busy = error_response({ErrorCode::kUnavailable, "busy", "wait", "secret detail"});
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(busy.headers.at("Retry-After"), "1");
  EXPECT_EQ(std::get<std::string>(busy.body).find("secret detail"), std::string::npos);
  EXPECT_TRUE(error_response({ErrorCode::kStorageFull, "", "", ""}).headers.contains("Retry-After"));
  EXPECT_TRUE(error_response({ErrorCode::kExhausted, "", "", ""}).headers.contains("Retry-After"));
  EXPECT_FALSE(error_response({ErrorCode::kNotFound, "", "", ""}).headers.contains("Retry-After"));
}

TEST(ResponseHead, LetsNoLineEndThroughFromAValue) {
  Response response = text_response("x");
  response.headers["Content-Disposition"] = "attachment; filename=\"a\r\nSet-Cookie: b\"";
  const std::string head = response_head(response, Framing::kLength, 1, true, 11);
  EXPECT_EQ(head.find("\r\nSet-Cookie"), std::string::npos);
  EXPECT_NE(head.find("X-Content-Type-Options: nosniff\r\n"), std::string::npos);
  EXPECT_NE(head.find("Cache-Control: no-store\r\n"), std::string::npos);
  response.headers["Cache-Control"] = "max-age=60";
  EXPECT_EQ(response_head(response, Framing::kLength, 1, true, 11).find("no-store"), std::string::npos);
}

}  // namespace
}  // namespace slipway::http

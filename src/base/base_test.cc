#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/json.h"

namespace slipway {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Duration, IsReadWithItsUnit) {
  EXPECT_EQ(*parse_duration("2h"), hours(2));
  EXPECT_EQ(*parse_duration("500ms"), milliseconds(500));
  EXPECT_EQ(*parse_duration("1.5"), milliseconds(1500));
  for (const std::string_view bad : {"", "h", "-1s", "2 parsecs", "1e999s", "nan", "99999999d"})
    EXPECT_FALSE(parse_duration(bad)) << bad;
}

TEST(Duration, IsShownInTheUnitPeopleWouldUse) {
  EXPECT_EQ(to_text(milliseconds(85)), "85 ms");
  EXPECT_EQ(to_text(milliseconds(12300)), "12.3 s");
  EXPECT_EQ(to_text(std::chrono::seconds(245)), "4 min 5 s");
  EXPECT_EQ(to_text(hours(26)), "1 d 2 h");
}

TEST(Timestamp, IsShownInUtcWithMilliseconds) {
  EXPECT_EQ(to_iso8601({1'700'000'000'123'456}), "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(to_iso8601({-1}), "1969-12-31T23:59:59.999Z");
}

TEST(Error, EveryCodeHasANameThatLeadsBackToItAndAnExitCode) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_TRUE(names.insert(error_name(code)).second);
    EXPECT_EQ(error_code_from_name(error_name(code)), code);
    EXPECT_GE(http_status(code), 400);
    EXPECT_GT(exit_code(code), 0);
  }
}

TEST(Name, FollowsOneRule) {
  for (const std::string_view good : {"a", "cpu-cluster", "0.1_x"}) EXPECT_TRUE(check_name(good, "cluster"));
  for (const std::string_view bad : {"", "-a", "a/b", "..", "a b", "\xc3\xa9"})
    EXPECT_FALSE(check_name(bad, "cluster"));
  const auto hostile = check_name("a\x1b[2J\n", "cluster");
  ASSERT_FALSE(hostile);
  EXPECT_EQ(hostile.error().message.find('\x1b'), std::string::npos);
}

TEST(Json, NamesTheFieldThatIsWrongMissingOrUnknown) {
  const auto refusal = [](std::string_view text) {
    const json::object object = *parse_json_object(text, "the job");
    int nodes = 0;
    JsonFields fields(object, "the job");
    fields.required("nodes", nodes);
    const Status status = fields.finish();
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(refusal(R"({"nodes": 2})"), "");
  EXPECT_EQ(refusal(R"({"nodes": "two"})"), "the job: field 'nodes' must be a whole number");
  EXPECT_EQ(refusal("{}"), "the job lacks the field 'nodes'");
  EXPECT_EQ(refusal(R"({"nodes": 1, "nods": 2})"), "the job has an unknown field 'nods'");
}

TEST(Json, RefusesADepthThatWouldExhaustTheStack) {
  const auto deep = parse_json(std::string(100'000, '[') + std::string(100'000, ']'), "the job");
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().message, testing::HasSubstr("nested deeper"));
}

TEST(Json, AnErrorComesBackAsItWasSentWithoutItsDetail) {
  const Error error{.code = ErrorCode::kNotFound, .message = "no run", .next = "look", .detail = "internal"};
  const std::string body = json::serialize(to_json(error));
  EXPECT_EQ(body.find("internal"), std::string::npos);
  const Error back = error_from_json(body, 404);
  EXPECT_EQ(back.code, error.code);
  EXPECT_EQ(back.message, error.message);
  EXPECT_EQ(back.next, error.next);
  EXPECT_EQ(error_from_json("<html>", 503).code, ErrorCode::kUnavailable);
}

TEST(Digest, IsSha256InLowerCaseHexadecimal) {
  EXPECT_EQ(Digest::of("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(*Digest::parse(Digest::of("abc").hex()), Digest::of("abc"));
  EXPECT_FALSE(Digest::parse("BA7816"));
}

}  // namespace
}  // namespace slipway

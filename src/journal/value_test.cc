#include "journal/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace slipway::journal {
namespace {

Result<Entry> entry(std::string_view text) {
  auto document = parse_json(text, "the test");
  if (!document) return fail(std::move(document).error());
  return entry_from_json(*document, {5});
}

LoggedValue value(std::string_view text) {
  auto parsed = entry(text);
  EXPECT_TRUE(parsed && std::holds_alternative<LoggedValue>(*parsed)) << text;
  return parsed && std::holds_alternative<LoggedValue>(*parsed) ? std::get<LoggedValue>(*parsed)
                                                                : LoggedValue{};
}

TEST(LoggedValues, AreNumbersUnlessTheySayOtherwise) {
  const auto point = entry(R"({"name":"loss","value":"-Infinity","step":3,"time":9})");
  ASSERT_TRUE(point);
  EXPECT_EQ(std::get<MetricPoint>(*point).step, 3);
  EXPECT_EQ(std::get<MetricPoint>(*point).time.micros, 9);
  EXPECT_TRUE(std::isinf(std::get<MetricPoint>(*point).value));
  EXPECT_TRUE(entry(R"({"name":"loss","kind":"number","value":1})"));
}

TEST(LoggedValues, HaveKindsWithShapesOfTheirOwn) {
  EXPECT_EQ(value(R"({"name":"a","kind":"string","value":"NaN"})").document, R"("NaN")");
  EXPECT_EQ(
      value(R"({"name":"a","kind":"row","value":{"x":1,"y":"t","z":{"number":"NaN"},"b":true,"n":null}})")
          .kind,
      ValueKind::kRow);
  EXPECT_EQ(
      value(R"({"name":"a","kind":"table","value":{"x":[1,{"number":"Infinity"}],"y":[]}})").time.micros, 5);
  EXPECT_EQ(value(R"({"name":"a","kind":"image","value":{"path":"outputs/p.png"}})").kind, ValueKind::kImage);
  for (const char* kind : {"confusion_matrix", "accuracy_table", "residuals", "predictions"})
    EXPECT_EQ(to_text(value(fmt::format(R"({{"name":"a","kind":"{}","value":{{"data":{{}}}}}})", kind)).kind),
              kind);
}

TEST(LoggedValues, AreRefusedInAnyOtherShape) {
  for (const char* bad : {
           R"(7)",
           R"({"value":1})",
           R"({"name":"","value":1})",
           R"({"name":"a"})",
           R"({"name":"a","value":"text"})",
           R"({"name":"a","value":[1]})",
           R"({"name":"a","kind":"list","value":[1]})",
           R"({"name":"a","kind":"string","value":1})",
           R"({"name":"a","kind":"row","value":{}})",
           R"({"name":"a","kind":"row","value":{"x":[1]}})",
           R"({"name":"a","kind":"row","value":{"x":{"number":"7"}}})",
           R"({"name":"a","kind":"row","value":{"x":{"number":"NaN","more":1}}})",
           R"({"name":"a","kind":"table","value":{"x":1}})",
           R"({"name":"a","kind":"table","value":{"x":[[1]]}})",
           R"({"name":"a","kind":"image","value":{"path":"../x"}})",
           R"({"name":"a","kind":"image","value":{"path":"x","more":1}})",
           R"({"name":"a","kind":"residuals","value":[]})",
           R"({"name":"a","value":1,"more":1})",
           R"({"name":"a","value":1,"step":"x"})",
       })
    EXPECT_FALSE(entry(bad)) << bad;
  EXPECT_FALSE(entry(fmt::format(R"({{"name":"{}","value":1}})", std::string(kMaxMetricName + 1, 'x'))));
  const auto large =
      entry(fmt::format(R"({{"name":"a","kind":"string","value":"{}"}})", std::string(kMaxValueText, 'x')));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kTooLarge);
}

TEST(LoggedValues, GoThroughARecord) {
  const std::vector<LoggedValue> values = {
      value(R"({"name":"a","kind":"row","value":{"x":0.1,"y":12345678901234567}})"),
      value(R"({"name":"b","kind":"string","value":"\u00e4","step":-2})")};
  const auto back = parse_values(encode_values(values));
  ASSERT_TRUE(back);
  ASSERT_EQ(back->size(), 2U);
  EXPECT_EQ(back->front().document, values[0].document);
  EXPECT_THAT(back->front().document, testing::HasSubstr("12345678901234567"));
  EXPECT_EQ(back->back().step, -2);
  EXPECT_FALSE(parse_values("{}"));
  EXPECT_FALSE(parse_values(R"([{"name":"a","kind":"new"}])"));
}

}  // namespace
}  // namespace slipway::journal

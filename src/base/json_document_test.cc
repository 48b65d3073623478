#include "base/json_document.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/json.h"

namespace slipway {
namespace {

double number_of(std::string_view text) {
  boost::system::error_code error;
  const boost::json::value value = parse_document(text, 4, error);
  EXPECT_FALSE(error) << error.message();
  return value.is_double() ? value.get_double() : std::nan("");
}

TEST(JsonDocument, ReadsEveryDoubleBackAsItWasWritten) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const std::string text = fmt::format("{:.17g}", value);
    if (text.find_first_of(".e") == std::string::npos) continue;
    EXPECT_EQ(number_of(text), value) << text;
  }
  EXPECT_EQ(number_of("0.09090909090909091"), 1.0 / 11);
}

TEST(JsonDocument, GivesInfinityBeyondADouble) {
  EXPECT_TRUE(std::isinf(number_of("1e400")));
}

TEST(JsonDocument, RefusesDepthAndWhatFollowsTheDocument) {
  boost::system::error_code error;
  parse_document("[[[[[1]]]]]", 4, error);
  EXPECT_EQ(error, boost::json::error::too_deep);
  parse_document("{} {}", 4, error);
  EXPECT_EQ(error, boost::json::error::extra_data);
  parse_document(R"({"a": [1, true, null, "x", -2, 18446744073709551615, 1.5]})", 4, error);
  EXPECT_FALSE(error);
}

}  // namespace
}  // namespace slipway

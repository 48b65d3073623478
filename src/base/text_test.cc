#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/utf8.h"

namespace slipway {
namespace {

TEST(Utf8, MarksBytesOfNoCharacter) {
  EXPECT_EQ(to_valid_utf8("a\u00e9"), "a\u00e9");
  EXPECT_EQ(to_valid_utf8(std::string_view("x\u00e9").substr(0, 2)), "x\ufffd");
  EXPECT_EQ(to_valid_utf8("\xff\xfe!"), "\ufffd\ufffd!");
}

TEST(Utf8, ReadsOneCharacterOfEachLength) {
  EXPECT_EQ(decode_utf8("a").code, U'a');
  EXPECT_EQ(decode_utf8("\u00e9").size, 2U);
  EXPECT_EQ(decode_utf8("\u20ac").code, U'\u20ac');
  EXPECT_EQ(decode_utf8("\U0001f600").size, 4U);
}

TEST(Utf8, RefusesOverlongFormsSurrogatesAndCutOffCharacters) {
  EXPECT_FALSE(is_utf8("\xc0\xaf"));
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));
  EXPECT_EQ(valid_utf8_prefix("plain text, then \xe2\x82"), 17U);
}

TEST(Base64, GivesBackEveryLength) {
  for (const std::string_view bytes : {"", "a", "ab", "abc", "abcd"}) {
    const auto back = from_base64(to_base64(bytes));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, bytes);
  }
  EXPECT_FALSE(from_base64("abc"));
  EXPECT_FALSE(from_base64("a!bc"));
}

}  // namespace
}  // namespace slipway

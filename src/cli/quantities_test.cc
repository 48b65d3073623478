#include "cli/quantities.h"

#include <gtest/gtest.h>

namespace slipway::cli {
namespace {

TEST(Bytes, AreShownInTheUnitThatFits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.0 KiB");
  EXPECT_EQ(bytes_text(1258291), "1.2 MiB");
  EXPECT_EQ(bytes_text((1ULL << 30) - 1), "1.0 GiB");
  EXPECT_EQ(bytes_text(~0ULL), "16.0 EiB");
}

TEST(Bytes, AreReadInEverySpelling) {
  EXPECT_EQ(parse_bytes("512").value(), 512U);
  EXPECT_EQ(parse_bytes("4G").value(), 4ULL << 30);
  EXPECT_EQ(parse_bytes("4GiB").value(), 4ULL << 30);
  EXPECT_EQ(parse_bytes("4 gb").value(), 4ULL << 30);
  EXPECT_EQ(parse_bytes("1.5k").value(), 1536U);
  for (const char* bad : {"", "G", "-1", "1.2.3", "4X", "1e30", "nan", "4GG"})
    EXPECT_FALSE(parse_bytes(bad)) << bad;
}

TEST(Memory, CountsGibibytesWhenTheNumberIsBare) {
  EXPECT_EQ(parse_memory("4").value(), 4ULL << 30);
  EXPECT_EQ(parse_memory("0.5").value(), 512ULL << 20);
  EXPECT_EQ(parse_memory("512MiB").value(), 512ULL << 20);
  EXPECT_FALSE(parse_memory(""));
}

TEST(RelativeTime, NamesTheLargestUnit) {
  const Timestamp now{1'700'000'000'000'000};
  const auto ago = [&](int64_t seconds) { return relative_time({now.micros - seconds * 1'000'000}, now); };
  EXPECT_EQ(ago(0), "just now");
  EXPECT_EQ(ago(59), "59 s ago");
  EXPECT_EQ(ago(200), "3 min ago");
  EXPECT_EQ(ago(7300), "2 h ago");
  EXPECT_EQ(ago(3 * 86400), "3 d ago");
  EXPECT_EQ(ago(40 * 86400), "2023-10-05");
  EXPECT_EQ(ago(-300), "in 5 min");
}

TEST(Iso8601, IsReadBackAsItWasWritten) {
  const Timestamp time{1'700'000'123'456'000};
  EXPECT_EQ(parse_iso8601(to_iso8601(time)), time);
  EXPECT_EQ(parse_iso8601("1970-01-01T00:00:01Z"), Timestamp{1'000'000});
  for (const char* bad : {"", "2026", "2026-13-01T00:00:00Z", "2026-11-15T09:30:00", "2026-11-15T25:00:00Z"})
    EXPECT_FALSE(parse_iso8601(bad)) << bad;
}

TEST(Printable, LetsNoControlCharacterReachTheTerminal) {
  EXPECT_EQ(printable("a\033[31mb\nc\x7f"), "a?[31mb?c?");
  EXPECT_EQ(printable("bad \xff\xc3 bytes"), "bad ?? bytes");
  EXPECT_EQ(printable("\xe2\x80\xae turned"), "? turned");
  EXPECT_EQ(printable("grün"), "grün");
}

TEST(Printable, CutsByDisplayColumns) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcde…");
  EXPECT_EQ(printable("模型模型", 5), "模型…");
  EXPECT_EQ(printable("模型模型", 4), "模…");
}

TEST(DisplayWidth, CountsWideAndCombiningCharacters) {
  EXPECT_EQ(display_width("grün"), 4U);
  EXPECT_EQ(display_width("模型"), 4U);
  EXPECT_EQ(display_width("e\xcc\x81"), 1U);
  EXPECT_EQ(display_width("🚀"), 2U);
}

}  // namespace
}  // namespace slipway::cli

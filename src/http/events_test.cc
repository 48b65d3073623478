#include "http/events.h"

#include <gtest/gtest.h>

#include "http/client.h"

namespace slipway::http {
namespace {

std::vector<Event> parse(std::string_view bytes, size_t step = SIZE_MAX) {
  EventParser parser;
  std::vector<Event> events;
  while (!bytes.empty()) {
    EXPECT_TRUE(parser.feed(bytes.substr(0, step), [&](Event event) { events.push_back(std::move(event)); }));
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  return events;
}

TEST(Events, GoThereAndBackHoweverTheBytesAreCut) {
  std::string bytes = ":\n\n";
  append_event(bytes, {"1", "state", "{\"a\":1}"});
  append_event(bytes, {"2", "log", "first\nsecond\r\n\nlast "});
  append_event(bytes, {"3", "", ""});
  for (size_t step = 1; step < 12; ++step) {
    const auto events = parse(bytes, step);
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[0].id, "1");
    EXPECT_EQ(events[0].name, "state");
    EXPECT_EQ(events[0].data, "{\"a\":1}");
    EXPECT_EQ(events[1].data, "first\nsecond\n\nlast ");
    EXPECT_EQ(events[2].name, "");
    EXPECT_EQ(events[2].data, "");
  }
}

TEST(Events, AreReadWithAnyLineEnd) {
  for (const char* bytes :
       {"data: a\ndata: b\n\n", "data: a\r\ndata: b\r\n\r\n", "data: a\rdata: b\r\r", "data:a\rdata:b\r\n\n"})
    for (size_t step = 1; step < 4; ++step) {
      const auto events = parse(bytes, step);
      ASSERT_EQ(events.size(), 1U) << bytes;
      EXPECT_EQ(events[0].data, "a\nb");
    }
}

TEST(Events, KeepTheLastIdAndIgnoreWhatTheyDoNotKnow) {
  const auto events = parse("id: 7\ndata: a\n\nretry: 10\nfoo: bar\nevent: x\n\ndata\n\ndata: c");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].id, "7");
  EXPECT_EQ(events[1].name, "");
  EXPECT_EQ(events[1].data, "");
}

TEST(Events, CannotBeForgedThroughAnId) {
  std::string bytes;
  append_event(bytes, {"1\ndata: forged", "na\r\nme", "true"});
  const auto events = parse(bytes);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].data, "true");
  EXPECT_EQ(events[0].name, "name");
}

TEST(Events, LargerThanTheBoundAreRefused) {
  EventParser parser;
  const std::string piece(1 << 20, 'x');
  Status status = parser.feed("data: ", [](const Event&) {});
  for (int i = 0; i < 9 && status; ++i) status = parser.feed(piece, [](const Event&) {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace slipway::http

#include "node/supervisor_feed.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/json.h"
#include "journal/reader.h"
#include "node/supervisor_resources.h"

namespace slipway::node {
namespace {

using journal::Kind;

class Feed : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/slipway-feed-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  JournalFeed open(uint64_t quota = 0) {
    return JournalFeed(std::move(*journal::Writer::open(folder_ / "journal")), folder_, quota, clock_);
  }
  // The whole journal in short: "log:a:3" is three bytes of stream a, "mark:a:5" a gap of five.
  std::string story() {
    std::string text;
    journal::Reader reader(folder_ / "journal");
    const auto chunk = reader.read(64 << 20);
    for (std::string_view rest = chunk->bytes; !rest.empty();) {
      const auto parsed = journal::parse_record(rest);
      const journal::Record& record = (*parsed)->record;
      rest.remove_prefix((*parsed)->size);
      if (!text.empty()) text += ' ';
      if (record.kind == Kind::kLog) {
        const auto log = journal::parse_log(record.payload);
        text += fmt::format("log:{}@{}:{}", log->name, log->offset, log->bytes.size());
      } else if (record.kind == Kind::kMark) {
        const auto mark = parse_json_object(record.payload, "the mark");
        text += fmt::format("mark:{}:{}", std::string_view(mark->at("stream").as_string()),
                            mark->at("dropped_bytes").as_int64());
      } else {
        text += record.payload;
      }
    }
    return text;
  }
  // As a disk that has room for `bytes` more.
  void limit_file_size(uint64_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }

  std::filesystem::path folder_;
  ManualClock clock_;
};

TEST_F(Feed, CountsOffsetsByStreamAcrossFlushes) {
  JournalFeed feed = open();
  feed.log("a", journal::Channel::kStdout, "12345");
  feed.log("a", journal::Channel::kStderr, "678");
  feed.log("b", journal::Channel::kNone, "x");
  feed.flush();
  feed.log("a", journal::Channel::kStdout, "9");
  ASSERT_TRUE(feed.finish("exit"));
  EXPECT_EQ(story(), "log:a@0:5 log:a@5:3 log:b@0:1 log:a@8:1 exit");
}

TEST_F(Feed, SaysThatTheQuotaIsUsedUpWhenItHappensAndWhatItCostAtTheEnd) {
  JournalFeed feed = open(6);
  feed.log("a", journal::Channel::kStdout, "12345");
  feed.log("b", journal::Channel::kStdout, "123");
  feed.flush();
  for (int i = 0; i < 10; ++i) {
    feed.log("b", journal::Channel::kStdout, "123");
    feed.flush();
  }
  ASSERT_TRUE(feed.finish("exit"));
  EXPECT_EQ(story(), "log:a@0:5 log:b@0:1 mark:b:2 mark:b:30 exit");
}

TEST_F(Feed, KeepsOtherRecordsThroughAFullDiskAndAccountsForTheLogBytes) {
  JournalFeed feed = open();
  feed.log("a", journal::Channel::kStdout, "12345");
  feed.flush();
  const uint64_t used = std::filesystem::file_size(folder_ / "journal/00000000000000000000");
  limit_file_size(used + 10);
  const std::string many(1000, 'x');
  feed.record(Kind::kTags, "tags");
  feed.log("a", journal::Channel::kStdout, many);
  feed.flush();
  feed.log("a", journal::Channel::kStdout, many);
  feed.flush();
  EXPECT_EQ(story(), "log:a@0:5");
  EXPECT_LT(feed.next_flush(), clock_.monotonic() + std::chrono::seconds(1)) << "it will look again";
  EXPECT_FALSE(feed.finish("exit"));

  limit_file_size(RLIM_INFINITY);
  clock_.advance(std::chrono::seconds(1));
  feed.flush();
  feed.log("a", journal::Channel::kStdout, "67");
  ASSERT_TRUE(feed.finish("exit"));
  EXPECT_EQ(story(), "log:a@0:5 tags mark:a:2000 log:a@5:2 exit");
}

TEST(ResourceSampler, ReportsUseSinceTheLastSample) {
  struct FakeGroup final : ProcessGroup {
    Entrance entrance() const override { return {}; }
    void bound() override {}
    void signal_all(int) override {}
    void kill_all() override {}
    bool is_empty() override { return false; }
    std::optional<Duration> cpu_time() override { return cpu; }
    std::optional<uint64_t> memory_bytes() override { return 4096; }
    uint64_t out_of_memory_kills() override { return 0; }
    void remove() override {}
    std::vector<std::filesystem::path> folders() const override { return {}; }
    Duration cpu{0};
  } group;
  ManualClock clock;
  ResourceSampler sampler(group, {}, clock);
  clock.advance(std::chrono::seconds(5));
  group.cpu = std::chrono::milliseconds(7500);
  EXPECT_EQ(sampler.sample(), R"({"cpu_percent":150,"memory_bytes":4096,"gpus":[]})");
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(sampler.sample(), R"({"cpu_percent":0,"memory_bytes":4096,"gpus":[]})");
}

}  // namespace
}  // namespace slipway::node

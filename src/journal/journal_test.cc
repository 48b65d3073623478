#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/file.h"
#include "journal/crc32c.h"
#include "journal/reader.h"
#include "journal/record.h"
#include "journal/segments.h"
#include "journal/writer.h"

namespace slipway::journal {
namespace {

namespace fs = std::filesystem;

class Journal : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/slipway-journal-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  Writer open(uint64_t segment_bytes = Writer::kSegmentBytes) {
    auto writer = Writer::open(folder_ / "journal", segment_bytes);
    EXPECT_TRUE(writer) << writer.error().message;
    return std::move(*writer);
  }
  fs::path journal() const { return folder_ / "journal"; }

  // Payloads of all records from `position`, read in pieces of `max`.
  std::vector<std::string> payloads(uint64_t position = 0, size_t max = 1 << 16) {
    std::vector<std::string> found;
    Reader reader(journal(), position);
    uint64_t sequence = 0;
    while (true) {
      const auto chunk = reader.read(max);
      EXPECT_TRUE(chunk) << chunk.error().message;
      if (!chunk || chunk->bytes.empty()) return found;
      for (std::string_view rest = chunk->bytes; !rest.empty();) {
        const auto parsed = parse_record(rest);
        EXPECT_TRUE(parsed && *parsed);
        if (sequence != 0) EXPECT_EQ((*parsed)->record.sequence, sequence + 1);
        sequence = (*parsed)->record.sequence;
        found.emplace_back((*parsed)->record.payload);
        rest.remove_prefix((*parsed)->size);
      }
    }
  }

  fs::path folder_;
};

TEST(Crc32c, MatchesTheKnownCheckValueBothWays) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c_by_table("123456789"), 0xE3069283U);
  std::string text;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(crc32c(text), crc32c_by_table(text));
    EXPECT_EQ(crc32c(text.substr(text.size() / 3), crc32c(text.substr(0, text.size() / 3))), crc32c(text));
    text += static_cast<char>(i * 7);
  }
}

TEST(Record, ComesBackTheSameAndIsNotTakenWhenABitFlips) {
  const std::string record = encode_record(Kind::kTags, 7, {123}, "payload");
  const std::string followed = record + "more";
  const auto parsed = parse_record(followed);
  ASSERT_TRUE(parsed && *parsed);
  EXPECT_EQ((*parsed)->size, record.size());
  EXPECT_EQ((*parsed)->record.kind, Kind::kTags);
  EXPECT_EQ((*parsed)->record.sequence, 7U);
  EXPECT_EQ((*parsed)->record.time.micros, 123);
  EXPECT_EQ((*parsed)->record.payload, "payload");
  for (size_t i = 0; i < record.size(); ++i) {
    std::string flipped = record;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    const auto result = parse_record(flipped);
    EXPECT_FALSE(result && *result) << "bit flipped in byte " << i;
  }
  for (size_t size = 0; size < record.size(); ++size) {
    const auto result = parse_record(std::string_view(record).substr(0, size));
    EXPECT_TRUE(result && !*result) << size;
  }
  EXPECT_FALSE(parse_record(std::string(64, '\0')));
}

TEST(LogChunk, KeepsEveryByte) {
  const std::string bytes("\0\xff\x1b[31m no newline", 17);
  const LogChunk chunk{
      .name = "logs/\xc3\xa9.log", .channel = Channel::kStderr, .offset = 1ULL << 40, .bytes = bytes};
  const std::string payload = encode_log(chunk);
  const auto again = parse_log(payload);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->name, chunk.name);
  EXPECT_EQ(again->channel, Channel::kStderr);
  EXPECT_EQ(again->offset, chunk.offset);
  EXPECT_EQ(again->bytes, bytes);
  EXPECT_FALSE(parse_log("short"));
}

TEST(Metrics, KeepNanInfinitiesAndMinusZero) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<MetricPoint> points{{"loss", 1, {10}, std::nan("")},
                                        {"..", -5, {11}, inf},
                                        {"\xc3\xa9", 0, {12}, -inf},
                                        {"z", 9, {13}, -0.0}};
  const auto again = parse_metrics(encode_metrics(points));
  ASSERT_TRUE(again);
  ASSERT_EQ(again->size(), 4U);
  EXPECT_TRUE(std::isnan((*again)[0].value));
  EXPECT_EQ((*again)[1].value, inf);
  EXPECT_EQ((*again)[1].step, -5);
  EXPECT_EQ((*again)[2].name, "\xc3\xa9");
  EXPECT_TRUE(std::signbit((*again)[3].value));
  EXPECT_FALSE(parse_metrics("x"));
}

TEST_F(Journal, IsReadAsItWasWrittenAcrossSegments) {
  std::vector<std::string> written;
  Writer writer = open(1000);
  for (int i = 0; i < 100; ++i) {
    const std::string bytes(static_cast<size_t>(i * 7 % 300), static_cast<char>('a' + i % 26));
    writer.add_log({i}, {.name = "std_log.txt", .channel = Channel::kStdout, .offset = 0, .bytes = bytes});
    writer.add(Kind::kSample, {i}, "{}");
    ASSERT_TRUE(writer.flush());
    written.push_back(
        encode_log({.name = "std_log.txt", .channel = Channel::kStdout, .offset = 0, .bytes = bytes}));
    written.emplace_back("{}");
  }
  EXPECT_GT(list_segments(journal())->size(), 10U);
  EXPECT_EQ(payloads(), written);
  EXPECT_EQ(payloads(0, 10), written) << "a record larger than asked for comes alone";
  EXPECT_EQ(list_segments(journal())->back().end(), writer.end());
}

TEST_F(Journal, GoesOnAfterReopeningWithTheNextSequence) {
  {
    Writer writer = open();
    writer.add(Kind::kPhase, {1}, "one");
    ASSERT_TRUE(writer.flush());
  }
  Writer writer = open();
  EXPECT_FALSE(writer.ended());
  writer.add(Kind::kExit, {2}, "two");
  ASSERT_TRUE(writer.flush());
  EXPECT_EQ(payloads(), (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(open().ended());
}

TEST_F(Journal, CutsATornTailAtTheLastWholeRecord) {
  uint64_t whole = 0;
  {
    Writer writer = open();
    writer.add(Kind::kPhase, {1}, "one");
    writer.add(Kind::kPhase, {2}, "two");
    ASSERT_TRUE(writer.flush());
    whole = writer.end();
  }
  const std::string next = encode_record(Kind::kPhase, 3, {3}, "three");
  for (size_t torn = 1; torn < next.size(); ++torn) {
    std::ofstream(segment_path(journal(), 0), std::ios::app | std::ios::binary) << next.substr(0, torn);
    EXPECT_EQ(payloads().size(), 2U) << "a reader stops before the tear";
    EXPECT_EQ(open().end(), whole);
    EXPECT_EQ(fs::file_size(segment_path(journal(), 0)), whole);
  }
  std::ofstream(segment_path(journal(), 0), std::ios::app | std::ios::binary) << std::string(4096, '\0');
  EXPECT_EQ(open().end(), whole) << "zeros left by a power loss are no record";
  Writer writer = open();
  writer.add(Kind::kPhase, {3}, "three");
  ASSERT_TRUE(writer.flush());
  EXPECT_EQ(payloads(), (std::vector<std::string>{"one", "two", "three"}));
}

TEST_F(Journal, KnowsTheSequenceWhenTheLastSegmentIsEmpty) {
  uint64_t end = 0;
  {
    Writer writer = open();
    writer.add(Kind::kPhase, {1}, "one");
    ASSERT_TRUE(writer.flush());
    end = writer.end();
  }
  std::ofstream(segment_path(journal(), end)) << "";
  ASSERT_TRUE(remove_segments_before(journal(), end));
  Writer writer = open();
  EXPECT_EQ(writer.end(), end);
  writer.add(Kind::kPhase, {2}, "two");
  ASSERT_TRUE(writer.flush());
  EXPECT_EQ(payloads(), (std::vector<std::string>{"one", "two"}));
}

TEST_F(Journal, IsFollowedWhileItGrows) {
  Reader reader(journal());
  EXPECT_TRUE(reader.read(100)->bytes.empty()) << "not there yet";
  Writer writer = open(200);
  EXPECT_TRUE(reader.read(100)->bytes.empty()) << "empty yet";
  for (int i = 0; i < 50; ++i) {
    writer.add(i == 49 ? Kind::kExit : Kind::kPhase, {i}, std::string(50, 'x'));
    ASSERT_TRUE(writer.flush());
    const auto chunk = reader.read(1 << 20);
    ASSERT_TRUE(chunk) << chunk.error().message;
    EXPECT_EQ(chunk->bytes.size(), kHeaderSize + 50);
    EXPECT_EQ(chunk->has_exit, i == 49);
    EXPECT_EQ(reader.position(), writer.end());
    EXPECT_TRUE(reader.read(1 << 20)->bytes.empty());
  }
}

TEST_F(Journal, RemovesOnlySegmentsThatLieWhollyBefore) {
  Writer writer = open(100);
  std::vector<uint64_t> ends;
  for (int i = 0; i < 5; ++i) {
    writer.add(Kind::kPhase, {i}, std::string(60, 'x'));
    ASSERT_TRUE(writer.flush());
    ends.push_back(writer.end());
  }
  EXPECT_EQ(*backlog(journal(), 0), writer.end());
  ASSERT_TRUE(remove_segments_before(journal(), ends[1]));
  EXPECT_EQ(list_segments(journal())->front().start, ends[1]);
  EXPECT_EQ(*backlog(journal(), ends[2]), writer.end() - ends[2]);
  EXPECT_EQ(payloads(ends[1]).size(), 3U);
  EXPECT_EQ(Reader(journal(), 0).read(100).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(remove_segments_before(journal(), writer.end()));
  EXPECT_EQ(list_segments(journal())->size(), 1U) << "the last one stays";
}

TEST_F(Journal, SaysWhereItIsDamaged) {
  Writer writer = open();
  for (int i = 0; i < 3; ++i) writer.add(Kind::kPhase, {i}, "0123456789");
  ASSERT_TRUE(writer.flush());
  const UniqueFd fd(::open(segment_path(journal(), 0).c_str(), O_WRONLY));
  ASSERT_EQ(::pwrite(fd.get(), "X", 1, kHeaderSize + 10 + kHeaderSize + 3), 1);
  Reader reader(journal());
  EXPECT_EQ(reader.read(1 << 20)->bytes.size(), kHeaderSize + 10);
  EXPECT_EQ(reader.read(1 << 20).error().code, ErrorCode::kInternal);
}

TEST_F(Journal, KeepsTheWholeRecordsOfABatchThatFoundNoSpace) {
  Writer writer = open();
  writer.add(Kind::kPhase, {1}, "one");
  ASSERT_TRUE(writer.flush());
  // A file size limit stops the write in its middle, as a full disk does.
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit tight{.rlim_cur = writer.end() + 2 * kHeaderSize + 50, .rlim_max = old.rlim_max};
  ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  writer.add(Kind::kPhase, {2}, "two");
  writer.add(Kind::kPhase, {3}, std::string(100, 'x'));
  writer.add(Kind::kPhase, {4}, "gone");
  EXPECT_FALSE(writer.flush());
  EXPECT_EQ(writer.flushed_records(), 1U);
  EXPECT_EQ(fs::file_size(segment_path(journal(), 0)), writer.end()) << "the torn record is cut off";
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_EQ(payloads(), (std::vector<std::string>{"one", "two"}));
  writer.add(Kind::kPhase, {5}, "three");
  ASSERT_TRUE(writer.flush());
  EXPECT_EQ(payloads(), (std::vector<std::string>{"one", "two", "three"}));
}

TEST_F(Journal, TakesRecordsUpToTheLimit) {
  Writer writer = open();
  writer.add(Kind::kTags, {1}, std::string(kMaxPayload, 'x'));
  writer.add(Kind::kTags, {2}, "small");
  ASSERT_TRUE(writer.flush());
  ASSERT_TRUE(writer.sync());
  EXPECT_EQ(writer.unsynced_bytes(), 0U);
  EXPECT_EQ(payloads(0, 1000).size(), 2U);
  EXPECT_EQ(open().end(), writer.end());
}

}  // namespace
}  // namespace slipway::journal

#include "data/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "base/file.h"
#include "snapshot/test_folder.h"

namespace slipway::data {
namespace {

using ::testing::HasSubstr;

// Objects in memory; `fault` may spoil a read.
class FakeSource final : public ByteSource {
 public:
  Status read(const File& file, const Range& range, const Sink& sink) override {
    const int count = ++reads;
    {
      const std::lock_guard lock(mutex);
      bytes_asked[file.path] += range.length;
    }
    if (fault) SLIPWAY_TRY(fault(count, range));
    if (whole_only && range.offset > 0) return fail(ErrorCode::kUnsupported, "no ranges");
    const std::string& content = objects.at(file.key);
    std::string_view rest = std::string_view(content).substr(range.offset, range.length);
    uint64_t given = 0;
    while (!rest.empty()) {
      const std::string_view piece = rest.substr(0, 300'000);
      SLIPWAY_TRY(sink(piece));
      given += piece.size();
      rest.remove_prefix(piece.size());
      if (cut_after > 0 && given >= cut_after) {
        cut_after = 0;
        return fail(ErrorCode::kUnavailable, "the connection broke");
      }
    }
    return {};
  }

  Result<Object> look(const File& file) override { return Object{.path = file.path, .size = file.size}; }

  std::map<std::string, std::string> objects;
  std::map<std::string, uint64_t> bytes_asked;
  std::function<Status(int count, const Range& range)> fault;
  bool whole_only = false;
  std::atomic<uint64_t> cut_after = 0;
  std::atomic<int> reads = 0;
  std::mutex mutex;
};

class FetchTest : public testing::Test {
 protected:
  void add(const std::string& path, const std::string& content, bool with_digest) {
    source_.objects[path] = content;
    File file;
    file.path = file.key = path;
    file.size = content.size();
    if (with_digest) file.digest = Digest::of(content);
    if (!with_digest) file.tag = "\"1\"";
    files_.push_back(std::make_unique<File>(file));
  }
  std::vector<WantedFile> wanted() {
    std::vector<WantedFile> wanted;
    for (const auto& file : files_)
      wanted.push_back({.key = cache_key(*file, "http://host"), .file = file.get(), .source = &source_});
    return wanted;
  }
  Status fetch_all() {
    Fetcher fetcher(*cache_, options_);
    placed_.clear();
    return fetcher.fetch_all(wanted(), progress_, [&](const WantedFile& file, int fd) -> Status {
      std::string content(file.file->size, '\0');
      if (::pread(fd, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size()))
        return fail(ErrorCode::kInternal, "short");
      const std::lock_guard lock(mutex_);
      placed_[file.file->path] = std::move(content);
      return {};
    });
  }
  static std::string large() {
    std::string content;
    for (int i = 0; content.size() < 20 * PartialFile::kChunk + 17; ++i) content += std::to_string(i);
    return content;
  }

  snapshot::TestFolder folder_;
  std::unique_ptr<FileCache> cache_ = FileCache::open(folder_.path() / "cache", 1 << 30).value();
  FetchOptions options_{.dataset = "digits:2", .first_pause = Duration(10)};
  FakeSource source_;
  FetchProgress progress_;
  std::vector<std::unique_ptr<File>> files_;
  std::mutex mutex_;
  std::map<std::string, std::string> placed_;
};

TEST_F(FetchTest, BringsSmallAndLargeFilesAndFetchesNothingTwice) {
  for (int i = 0; i < 50; ++i) add("small/" + std::to_string(i), "content " + std::to_string(i), i % 2 == 0);
  add("large", large(), true);
  add("large-without-digest", large() + "x", false);
  add("empty", "", true);
  ASSERT_TRUE(fetch_all());
  EXPECT_EQ(placed_, source_.objects);
  EXPECT_EQ(progress_.files, files_.size());
  EXPECT_EQ(progress_.bytes, progress_.fetched);
  const int reads = source_.reads;
  ASSERT_TRUE(fetch_all());
  EXPECT_EQ(source_.reads, reads) << "all of it was in the cache";
}

TEST_F(FetchTest, GoesOnWhereTheConnectionBroke) {
  add("large", large(), true);
  options_.connections = 1;
  source_.cut_after = 5 * PartialFile::kChunk + 1000;
  ASSERT_TRUE(fetch_all());
  EXPECT_EQ(placed_, source_.objects);
  EXPECT_LT(source_.bytes_asked["large"], large().size() + 4 * PartialFile::kChunk);
}

TEST_F(FetchTest, ReadsAServerWithoutRangesInOneGo) {
  add("large", large(), true);
  source_.whole_only = true;
  ASSERT_TRUE(fetch_all());
  EXPECT_EQ(placed_, source_.objects);
}

TEST_F(FetchTest, SaysThatTheContentNoLongerMatchesItsVersion) {
  add("a.csv", "content", true);
  source_.objects["a.csv"] = "c0ntent";
  const Status fetched = fetch_all();
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, ErrorCode::kConflict);
  EXPECT_THAT(fetched.error().message,
              HasSubstr("the content of 'a.csv' no longer matches its version, digits:2"));
}

TEST_F(FetchTest, KeepsNothingOfALargeFileThatChangedMeanwhile) {
  add("large", large(), false);
  source_.fault = [](int count, const Range&) -> Status {
    if (count > 2) return fail(ErrorCode::kConflict, "its entity tag has changed");
    return {};
  };
  const Status fetched = fetch_all();
  ASSERT_FALSE(fetched);
  EXPECT_THAT(fetched.error().message, HasSubstr("no longer matches its version"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "cache/aside"));
}

TEST_F(FetchTest, DropsALargeFileWithAnotherDigest) {
  add("large", large(), true);
  source_.objects["large"][7'000'000] ^= 1;
  const Status fetched = fetch_all();
  ASSERT_FALSE(fetched);
  EXPECT_THAT(fetched.error().message, HasSubstr("its digest is another one"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "cache/aside"));
}

TEST_F(FetchTest, TriesAgainWhatMayPassAndGivesUpInTheEnd) {
  add("a", "content", true);
  source_.fault = [](int count, const Range&) -> Status {
    if (count <= 3) return fail(ErrorCode::kUnavailable, "the server is ill");
    return {};
  };
  ASSERT_TRUE(fetch_all());
  add("b", "other", true);
  source_.fault = [](int, const Range&) -> Status {
    return fail(ErrorCode::kUnavailable, "the server is ill");
  };
  const Status fetched = fetch_all();
  ASSERT_FALSE(fetched);
  EXPECT_THAT(fetched.error().message, HasSubstr("'b' of digits:2 cannot be fetched: the server is ill"));
}

TEST_F(FetchTest, StopsWhenItIsTold) {
  add("large", large(), true);
  std::atomic<bool> stop = false;
  options_.stopped = [&] { return stop.load(); };
  source_.fault = [&](int count, const Range&) -> Status {
    if (count == 2) stop = true;
    return {};
  };
  const Status fetched = fetch_all();
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, ErrorCode::kUnavailable);
  stop = false;
  source_.fault = nullptr;
  ASSERT_TRUE(fetch_all()) << "and goes on later";
  EXPECT_EQ(placed_, source_.objects);
}

}  // namespace
}  // namespace slipway::data

#include "data/cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>
#include <thread>

#include "snapshot/test_folder.h"

namespace slipway::data {
namespace {

namespace fs = std::filesystem;

class CacheTest : public testing::Test {
 protected:
  std::unique_ptr<FileCache> open(uint64_t max_bytes = 1 << 20) {
    return FileCache::open(folder_.path() / "cache", max_bytes).value();
  }
  fs::path path_of(const Digest& digest) const {
    return folder_.path() / "cache" / digest.hex().substr(0, 2) / digest.hex().substr(2);
  }

  snapshot::TestFolder folder_;
};

TEST_F(CacheTest, GivesBackWhatItWasGivenAndNothingElse) {
  const auto cache = open();
  const Digest digest = Digest::of("content");
  EXPECT_FALSE(cache->open_file(digest, 7));
  EXPECT_FALSE(cache->put(digest, "other")) << "bytes of another digest";
  EXPECT_FALSE(cache->holds(digest, 7));
  ASSERT_TRUE(cache->put(digest, "content"));
  EXPECT_TRUE(cache->holds(digest, 7));
  EXPECT_TRUE(cache->open_file(digest, 7));
  EXPECT_EQ(cache->read(digest, 100).value(), "content");
  EXPECT_TRUE(fs::is_empty(folder_.path() / "cache/aside"));
}

TEST_F(CacheTest, LooksAgainAtWhatWasWrittenBeforeTheMachineStarted) {
  const Digest digest = Digest::of("content");
  const CacheKey unknown(Digest::of("server, path and tag"), false);
  ASSERT_TRUE(open()->put(digest, "content"));
  ASSERT_TRUE(open()->put(unknown, "whatever"));
  std::ofstream(path_of(digest)) << "c0ntent";
  const Timestamp later{SystemClock().now().micros + 10'000'000};
  const auto cache = FileCache::open(folder_.path() / "cache", 1 << 20, later).value();
  const auto opened = cache->open_file(digest, 7);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(path_of(digest)));
  EXPECT_FALSE(cache->open_file(unknown, 8)) << "nothing says what it should hold";
}

TEST_F(CacheTest, StaysWithinItsBoundAndLosesWhatWasUsedLongestAgo) {
  const auto cache = open(10'000);
  std::vector<Digest> digests;
  for (int i = 0; i < 12; ++i) {
    const std::string content = std::string(1000, static_cast<char>('a' + i));
    digests.push_back(Digest::of(content));
    ASSERT_TRUE(cache->put(digests.back(), content));
    const timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
    ::utimensat(AT_FDCWD, path_of(digests.back()).c_str(), times, 0);
  }
  ASSERT_TRUE(cache->open_file(digests[0], 1000)) << "the oldest one is used again";
  cache->trim();
  EXPECT_TRUE(cache->holds(digests[0], 1000));
  EXPECT_FALSE(cache->holds(digests[1], 1000));
  EXPECT_FALSE(cache->holds(digests[2], 1000));
  EXPECT_FALSE(cache->holds(digests[3], 1000));
  EXPECT_TRUE(cache->holds(digests[4], 1000));
}

TEST_F(CacheTest, MakesRoomOnAFullDiskAsLongAsThereIsSomethingToRemove) {
  const auto cache = open();
  ASSERT_TRUE(cache->put(Digest::of("one"), "one"));
  EXPECT_TRUE(cache->make_room(1ULL << 60));
  EXPECT_FALSE(cache->holds(Digest::of("one"), 3));
  EXPECT_FALSE(cache->make_room(1ULL << 60));
}

TEST_F(CacheTest, SurvivesTheRemovalOfItsFolder) {
  const auto cache = open(1 << 30);
  const std::string large(PartialFile::kChunk + 1, 'a');
  const auto swept = cache->open_partial(Digest::of(large), large.size()).value();
  for (size_t chunk = 0; chunk < 2; ++chunk) swept->mark(chunk);
  fs::remove_all(folder_.path() / "cache");
  ASSERT_TRUE(cache->finish_partial(Digest::of(large), *swept)) << "somebody took it";
  EXPECT_FALSE(cache->holds(Digest::of(large), large.size()));
  const auto again = cache->open_partial(Digest::of(large), large.size()).value();
  EXPECT_NE(again, swept);
  EXPECT_FALSE(again->has(0));
  fs::remove_all(folder_.path() / "cache");
  EXPECT_TRUE(cache->put(Digest::of("content"), "content"));
  EXPECT_EQ(cache->read(Digest::of("content"), 100).value(), "content");
}

TEST_F(CacheTest, RemembersTheChunksOfAPartialFile) {
  const std::string content = std::string(PartialFile::kChunk, 'a') + std::string(100, 'b');
  const Digest digest = Digest::of(content);
  {
    const auto cache = open(1 << 30);
    const auto partial = cache->open_partial(digest, content.size()).value();
    EXPECT_EQ(partial->chunks(), 2U);
    ASSERT_TRUE(partial->write(PartialFile::kChunk, std::string(100, 'b')));
    partial->mark(1);
    EXPECT_FALSE(partial->complete());
  }
  const auto cache = open(1 << 30);
  const auto partial = cache->open_partial(digest, content.size()).value();
  EXPECT_TRUE(partial->has(1));
  EXPECT_FALSE(partial->has(0));
  ASSERT_TRUE(partial->write(0, std::string(PartialFile::kChunk, 'a')));
  partial->mark(0);
  ASSERT_TRUE(partial->complete());
  ASSERT_TRUE(cache->finish_partial(digest, *partial));
  EXPECT_TRUE(cache->open_file(digest, content.size()));
  EXPECT_TRUE(fs::is_empty(folder_.path() / "cache/aside"));
}

TEST_F(CacheTest, DropsAPartialFileWhoseBytesAreOthers) {
  const auto cache = open(1 << 30);
  const Digest digest = Digest::of("something else");
  const auto partial = cache->open_partial(digest, 10).value();
  ASSERT_TRUE(partial->write(0, "0123456789"));
  partial->mark(0);
  const Status finished = cache->finish_partial(digest, *partial);
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(cache->holds(digest, 10));
  EXPECT_TRUE(fs::is_empty(folder_.path() / "cache/aside"));
}

TEST_F(CacheTest, AChunkIsClaimedOnce) {
  const auto cache = open(1 << 30);
  const auto partial = cache->open_partial(Digest::of("x"), 5 * PartialFile::kChunk).value();
  partial->mark(3);
  EXPECT_EQ(partial->claim(0, 8), 3U) << "up to the one that is here";
  EXPECT_EQ(partial->claim(1, 1), 0U);
  EXPECT_FALSE(partial->wait(1, std::chrono::milliseconds(1)));
  partial->release(0, 3);
  EXPECT_TRUE(partial->wait(1, std::chrono::milliseconds(1)));
  EXPECT_EQ(partial->claim(1, 1), 1U);
}

TEST_F(CacheTest, ALockIsFreeAgainWhenItsHolderIsKilled) {
  const auto cache = open();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = cache->lock(Digest::of("x"), 0, 8);
    (void)!::write(ready[1], held ? "y" : "n", 1);
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_TRUE(cache->lock(Digest::of("x"), 8, 1)) << "the chunks behind it are free";
  std::thread killer([child] { ::kill(child, SIGKILL); });
  EXPECT_TRUE(cache->lock(Digest::of("x"), 7, 1));
  killer.join();
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace slipway::data

#include "snapshot/stat_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "snapshot/test_folder.h"

namespace slipway::snapshot {
namespace {

const FileStat kStat{.size = 3, .mtime_ns = 1'700'000'000'123'456'789, .ctime_ns = 5, .inode = 42};

std::string two_files() {
  return StatCache::encode({{.path = "a", .stat = kStat, .digest = Digest::of("a")},
                            {.path = "b/c", .stat = kStat, .digest = Digest::of("b")}});
}

TEST(StatCache, KnowsAFileOnlyWhileNothingAboutItHasChanged) {
  const StatCache cache = StatCache::parse(two_files());
  ASSERT_EQ(cache.size(), 2U);
  EXPECT_EQ(cache.find("b/c", kStat), Digest::of("b"));
  EXPECT_EQ(cache.find("b", kStat), std::nullopt);
  for (const auto change : {+[](FileStat& s) { ++s.size; }, +[](FileStat& s) { ++s.mtime_ns; },
                            +[](FileStat& s) { ++s.ctime_ns; }, +[](FileStat& s) { ++s.inode; }}) {
    FileStat changed = kStat;
    change(changed);
    EXPECT_EQ(cache.find("b/c", changed), std::nullopt);
  }
}

TEST(StatCache, IsEmptyWhenAnyByteIsDamagedOrMissing) {
  const std::string good = two_files();
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_EQ(StatCache::parse(bad).size(), 0U) << i;
    EXPECT_EQ(StatCache::parse(good.substr(0, i)).size(), 0U) << i;
  }
  EXPECT_EQ(StatCache::parse(good + "x").size(), 0U);
  EXPECT_EQ(StatCache::load("/nonexistent").size(), 0U);
}

TEST(StatCache, IsStoredForItsOwnerAlone) {
  const TestFolder folder;
  const auto file = folder.path() / "cache/slipway/snapshots/x";
  store_stat_cache(file, {{.path = "a", .stat = kStat, .digest = Digest::of("a")}});
  EXPECT_EQ(StatCache::load(file).find("a", kStat), Digest::of("a"));
  struct stat status{};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat(file.parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST(StatCache, KeepsABoundedNumberOfFolders) {
  const TestFolder folder;
  for (int i = 0; i < 205; ++i) store_stat_cache(folder.path() / std::to_string(i), {});
  const auto left = std::distance(std::filesystem::directory_iterator(folder.path()), {});
  EXPECT_EQ(left, 200);
}

}  // namespace
}  // namespace slipway::snapshot

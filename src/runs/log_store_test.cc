#include "runs/log_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/random.h"

namespace slipway::runs {
namespace {

namespace fs = std::filesystem;
using journal::Channel;
using journal::LogChunk;

class LogStoreTest : public testing::Test {
 protected:
  LogStoreTest()
      : folder_(fs::temp_directory_path() / ("slipway-logs-" + random_base32(8))), store_(folder_) {}
  ~LogStoreTest() override { fs::remove_all(folder_); }

  static LogChunk chunk(std::string name, Channel channel, uint64_t offset, std::string_view bytes) {
    return {.name = std::move(name), .channel = channel, .offset = offset, .bytes = bytes};
  }

  std::string content(const std::string& name) {
    uint64_t size = 0;
    const auto fd = store_.open(key_, name, &size);
    if (!fd) return "<none>";
    std::string text(size, '\0');
    EXPECT_EQ(::pread(fd->get(), text.data(), size, 0), static_cast<ssize_t>(size));
    return text;
  }

  const fs::path folder_;
  LogStore store_;
  const AttemptKey key_{.run = RunId("digits-abc"), .attempt = 1, .rank = 0};
};

TEST_F(LogStoreTest, KeepsBytesOfBothChannelsInTheOrderTheyCame) {
  ASSERT_TRUE(store_.append(key_, {chunk("std_log.txt", Channel::kStdout, 0, "one\n"),
                                   chunk("std_log.txt", Channel::kStderr, 4, "oops\n"),
                                   chunk("std_log.txt", Channel::kStdout, 9, "two\n")}));
  EXPECT_EQ(content("std_log.txt"), "one\noops\ntwo\n");
  const auto stretches = store_.stretches(key_, "std_log.txt", 2, 8);
  ASSERT_TRUE(stretches);
  ASSERT_EQ(stretches->size(), 3U);
  EXPECT_EQ((*stretches)[0].offset, 2U);
  EXPECT_EQ((*stretches)[1].channel, Channel::kStderr);
  EXPECT_EQ((*stretches)[1].length, 5U);
  EXPECT_EQ((*stretches)[2].length, 1U);
}

TEST_F(LogStoreTest, ARepeatedOrOverlappingChunkChangesNothingThatIsThere) {
  ASSERT_TRUE(store_.append(key_, {chunk("a", Channel::kNone, 0, "abcdef")}));
  ASSERT_TRUE(store_.append(key_, {chunk("a", Channel::kNone, 0, "abcdef")}));
  ASSERT_TRUE(store_.append(key_, {chunk("a", Channel::kNone, 4, "efgh")}));
  EXPECT_EQ(content("a"), "abcdefgh");
}

TEST_F(LogStoreTest, AChunkBeyondTheEndIsRefusedBecauseBytesWouldBeMissing) {
  ASSERT_TRUE(store_.append(key_, {chunk("a", Channel::kNone, 0, "ab")}));
  EXPECT_FALSE(store_.append(key_, {chunk("a", Channel::kNone, 3, "d")}));
  EXPECT_EQ(content("a"), "ab");
}

TEST_F(LogStoreTest, NamesBecomeFilesInTheirOwnFolderWhateverTheySay) {
  for (const std::string name :
       {"../../escape", "/etc/passwd", "..", "logs/deep/er.txt", "\xc3\xa9t\xc3\xa9", "a%2e"}) {
    ASSERT_TRUE(store_.append(key_, {chunk(name, Channel::kNone, 0, "x")})) << name;
    EXPECT_EQ(content(name), "x") << name;
    EXPECT_EQ(*decode_log_name(encode_log_name(name)), name);
    EXPECT_EQ(encode_log_name(name).find('/'), std::string::npos);
  }
  const auto logs = store_.list(key_.run);
  ASSERT_TRUE(logs);
  EXPECT_EQ(logs->size(), 6U);
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_))
    files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 12U);  // each with its index, all below the store's folder
}

TEST_F(LogStoreTest, ATornIndexEntryIsWrittenAgain) {
  ASSERT_TRUE(store_.append(key_, {chunk("a", Channel::kStdout, 0, "one")}));
  for (const auto& entry : fs::recursive_directory_iterator(folder_))
    if (entry.path().string().ends_with(".@index")) fs::resize_file(entry.path(), 16 + 7);
  ASSERT_TRUE(store_.append(key_, {chunk("a", Channel::kStderr, 3, "two")}));
  const auto stretches = store_.stretches(key_, "a", 0, 6);
  ASSERT_TRUE(stretches);
  ASSERT_EQ(stretches->size(), 2U);
  EXPECT_EQ((*stretches)[1].offset, 3U);
  EXPECT_EQ((*stretches)[1].channel, Channel::kStderr);
}

TEST_F(LogStoreTest, RemovesAllOfARun) {
  ASSERT_TRUE(store_.append(key_, {chunk("a", Channel::kNone, 0, "x")}));
  ASSERT_EQ(store_.runs().size(), 1U);
  ASSERT_TRUE(store_.remove(key_.run));
  EXPECT_TRUE(store_.runs().empty());
}

}  // namespace
}  // namespace slipway::runs

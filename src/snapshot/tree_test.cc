#include "snapshot/tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <fstream>
#include <map>

#include "base/file.h"
#include "snapshot/test_folder.h"

namespace slipway::snapshot {
namespace {

namespace fs = std::filesystem;

class WriteTree : public testing::Test {
 protected:
  void add(std::string path, const std::string& content, int mode = 0644) {
    const Digest digest = Digest::of(content);
    contents_[digest] = content;
    entries_.push_back({.path = std::move(path), .mode = mode, .size = content.size(), .digest = digest});
  }

  Status write(const fs::path& into) {
    return write_tree(*Manifest::from_entries(entries_), into,
                      [this](const Entry& entry) -> Result<UniqueFd> {
                        UniqueFd fd(::memfd_create("content", MFD_CLOEXEC));
                        SLIPWAY_TRY(write_all(fd.get(), contents_.at(entry.digest)));
                        ::lseek(fd.get(), 0, SEEK_SET);
                        return fd;
                      });
  }

  static mode_t mode_of(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  TestFolder folder_;
  std::vector<Entry> entries_;
  std::map<Digest, std::string> contents_;
};

TEST_F(WriteTree, CreatesFoldersAndFilesWithTheirModes) {
  add("train.py", "print('hello')");
  add("bin/run", "#!/bin/sh\n", 0755);
  add("bin/deep/er/data", std::string(300'000, 'x'));
  add("empty", "");
  const mode_t before = ::umask(0077);
  const Status written = write(folder_.path());
  ::umask(before);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(*read_file(folder_.path() / "train.py"), "print('hello')");
  EXPECT_EQ(read_file(folder_.path() / "bin/deep/er/data")->size(), 300'000U);
  EXPECT_EQ(*read_file(folder_.path() / "empty"), "");
  EXPECT_EQ(mode_of(folder_.path() / "bin/run"), 0755U);
  EXPECT_EQ(mode_of(folder_.path() / "train.py"), 0644U);
}

TEST_F(WriteTree, MayBeRepeatedOverWhatAnEarlierCallLeft) {
  add("a/b", "new");
  fs::create_directory(folder_.path() / "a");
  std::ofstream(folder_.path() / "a/b") << "old and longer";
  ASSERT_TRUE(write(folder_.path()));
  EXPECT_EQ(*read_file(folder_.path() / "a/b"), "new");
}

TEST_F(WriteTree, DoesNotFollowLinksOutOfTheFolder) {
  const TestFolder outside;
  std::ofstream(outside.path() / "victim") << "safe";
  fs::create_symlink(outside.path(), folder_.path() / "sub");
  add("sub/planted", "evil");
  EXPECT_FALSE(write(folder_.path()));
  EXPECT_FALSE(fs::exists(outside.path() / "planted"));

  entries_.clear();
  fs::create_symlink(outside.path() / "victim", folder_.path() / "file");
  add("file", "mine");
  ASSERT_TRUE(write(folder_.path()));
  EXPECT_EQ(*read_file(outside.path() / "victim"), "safe");
  EXPECT_EQ(*read_file(folder_.path() / "file"), "mine");
}

TEST_F(WriteTree, FailsWhenTheContentHasAnotherSize) {
  add("a", "content");
  contents_[entries_[0].digest] = "short";
  const Status written = write(folder_.path());
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("a has 5 bytes where the snapshot says 7"), std::string::npos);
}

}  // namespace
}  // namespace slipway::snapshot

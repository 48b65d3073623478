// The mount by itself: the tree, the table of mounts, and a real FUSE mount over a source in memory. The
// mount is made in a private view of the machine, so that nothing of it can be left behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "data/mount/attach.h"
#include "data/mount/fuse_session.h"
#include "data/mount/mount_table.h"
#include "snapshot/test_folder.h"

namespace slipway::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class MemorySource final : public ByteSource {
 public:
  Status read(const File& file, const Range& range, const Sink& sink) override {
    ++reads;
    if (changed) return fail(ErrorCode::kConflict, "its entity tag has changed");
    return sink(std::string_view(objects.at(file.path)).substr(range.offset, range.length));
  }
  Result<Object> look(const File& file) override { return Object{.path = file.path, .size = file.size}; }

  std::map<std::string, std::string> objects;
  std::atomic<int> reads = 0;
  std::atomic<bool> changed = false;
};

std::vector<File> files_of(const std::map<std::string, std::string>& objects) {
  std::vector<File> files;
  for (const auto& [path, content] : objects)
    files.push_back(
        {.path = path, .size = content.size(), .digest = {}, .tag = "1", .source = 0, .key = path});
  return files;
}

TEST(MountTree, FindsFilesByFolderAndName) {
  const std::vector<File> files =
      files_of({{"b", "1"}, {"a/x/1", "2"}, {"a.txt", "3"}, {"a/x/2", ""}, {"a/y", "5"}});
  const MountTree tree(files);
  EXPECT_EQ(tree.child_count(MountTree::kRoot), 3U);
  EXPECT_EQ(tree.name(tree.child(MountTree::kRoot, 0)), "a");
  EXPECT_EQ(tree.name(tree.child(MountTree::kRoot, 1)), "a.txt");
  const auto a = tree.find(MountTree::kRoot, "a");
  ASSERT_TRUE(a);
  EXPECT_TRUE(tree.is_folder(*a));
  const auto x = tree.find(*a, "x");
  ASSERT_TRUE(x);
  EXPECT_EQ(tree.parent(*x), *a);
  const auto two = tree.find(*x, "2");
  ASSERT_TRUE(two);
  EXPECT_EQ(files[tree.file(*two)].path, "a/x/2");
  EXPECT_FALSE(tree.find(*x, "3"));
  EXPECT_FALSE(tree.find(MountTree::kRoot, "a/x"));
  EXPECT_FALSE(tree.contains(0));
  EXPECT_FALSE(tree.contains(tree.size() + 1));
}

TEST(MountTable, FindsOurMountsAndNobodyElses) {
  constexpr std::string_view kTable =
      "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "60 21 0:50 / /h/attempts/r.1.0/inputs/a\\040b ro,nosuid - fuse.slipway slipway:x:1 ro\n"
      "61 21 0:51 / /h/attempts/r.1.0/inputs/c ro,nosuid shared:1 - fuse.sshfs host rw\n"
      "62 21 0:52 / /h/attempts/r.1.00/d ro - fuse.slipway slipway:y:1 ro\n"
      "63 60 0:53 / /h/attempts/r.1.0/inputs/e ro - fuse.slipway slipway:z:1 ro\n";
  EXPECT_THAT(own_mounts_in(kTable, "/h/attempts/r.1.0"),
              ElementsAre(fs::path("/h/attempts/r.1.0/inputs/e"), fs::path("/h/attempts/r.1.0/inputs/a b")));
  EXPECT_TRUE(own_mounts_in("torn line\n1 2 3", "/").empty());
}

// What a reader of the mount sees, told by a child process: it alone may wait for the mount, and its end is
// the end of its view of the machine.
class MountTest : public testing::Test {
 protected:
  // Mounts the source's objects, calls `look` with the mount's folder, and gives what it returned.
  std::string see(const std::function<std::string(const fs::path&)>& look) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const std::string seen = serve_and_look(look);
      (void)write_all(ends[1], seen);
      ::_exit(0);
    }
    ::close(ends[1]);
    std::string seen;
    char buffer[4096];
    for (ssize_t count = 1; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;)
      seen.append(buffer, static_cast<size_t>(count));
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return seen;
  }

  std::string serve_and_look(const std::function<std::string(const fs::path&)>& look) {
    const fs::path at = folder_.path() / "mounted";
    fs::create_directories(at);
    if (Status entered = enter_private_mounts(); !entered) return entered.error().message;
    auto mounted = Mounted::mount(at, "slipway:test:1", MountWay::kPrivileged);
    if (!mounted) return mounted.error().message;
    const std::vector<File> files = files_of(source_.objects);
    std::vector<WantedFile> wanted;
    for (const File& file : files)
      wanted.push_back({.key = cache_key(file, "memory"), .file = &file, .source = &source_});
    const auto cache = FileCache::open(folder_.path() / "cache", 1 << 30).value();
    const MountTree tree(files);
    LazyFiles lazy(*cache, wanted,
                   {.fetch = {.dataset = "test:1"},
                    .on_mismatch = [this](const Error& error) { told_ = error.message; }});
    FuseSession session(mounted->take_device(), tree, lazy);
    std::thread server([&] { (void)session.serve(); });
    mounted->widen_read_ahead();
    std::string seen = look(at);
    mounted->unmount();
    server.join();
    return seen;
  }

  static std::string read(const fs::path& path) { return read_file(path).value_or(""); }

  snapshot::TestFolder folder_;
  MemorySource source_;
  std::string told_;
};

TEST_F(MountTest, ShowsTheFilesWithTheirContentAndNothingMayBeWritten) {
  source_.objects = {{"a/b/c.txt", "hello"}, {"a/empty", ""}, {"top", "TOP"}};
  const std::string seen = see([](const fs::path& at) {
    std::string text;
    std::vector<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(at))
      paths.push_back(entry.path().lexically_relative(at).string() + (entry.is_directory() ? "/" : ""));
    std::ranges::sort(paths);
    for (const std::string& path : paths) text += path + " ";
    text +=
        read(at / "a/b/c.txt") + " " + read(at / "top") + " " + std::to_string(fs::file_size(at / "a/empty"));
    text += fs::exists(at / "a/none") ? " none" : "";
    if (::open((at / "new").c_str(), O_WRONLY | O_CREAT, 0600) < 0)
      text += errno == EROFS ? " read-only" : " ?";
    return text;
  });
  EXPECT_EQ(seen, "a/ a/b/ a/b/c.txt a/empty top hello TOP 0 read-only");
}

TEST_F(MountTest, ReadsALargeFileInOrderAndAtRandomAndTwice) {
  std::string content;
  for (int i = 0; content.size() < 30 * PartialFile::kChunk + 5; ++i) content += std::to_string(i);
  source_.objects = {{"large.bin", content}};
  const std::string seen = see([&](const fs::path& at) -> std::string {
    const UniqueFd random(::open((at / "large.bin").c_str(), O_RDONLY));
    char bytes[100];
    const off_t offset = 25 * PartialFile::kChunk - 50;
    if (::pread(random.get(), bytes, 100, offset) != 100) return "short";
    if (std::string_view(bytes, 100) != std::string_view(content).substr(static_cast<size_t>(offset), 100))
      return "other";
    if (source_.reads > 12) return "it fetched more than was read: " + std::to_string(source_.reads);
    if (read(at / "large.bin") != content) return "other bytes in order";
    const int reads = source_.reads;
    if (read(at / "large.bin") != content) return "other bytes the second time";
    return source_.reads == reads ? "good" : "fetched twice";
  });
  EXPECT_EQ(seen, "good");
  EXPECT_TRUE(fs::is_empty(folder_.path() / "cache/aside")) << "the whole file has its name";
}

TEST_F(MountTest, AChangedFileIsAnErrorToItsReaderAndIsTold) {
  source_.objects = {{"a", "content"}};
  source_.changed = true;
  const std::string seen = see([&](const fs::path& at) -> std::string {
    const UniqueFd file(::open((at / "a").c_str(), O_RDONLY));
    char bytes[10];
    const ssize_t count = ::read(file.get(), bytes, sizeof bytes);
    return (count < 0 && errno == EIO ? "EIO: " : "read: ") + told_;
  });
  EXPECT_THAT(seen, HasSubstr("EIO: the content of 'a' no longer matches its version, test:1"));
}

TEST_F(MountTest, ListsManyFiles) {
  for (int i = 0; i < 20'000; ++i) source_.objects["f/" + std::to_string(i)] = "x";
  const std::string seen = see([](const fs::path& at) {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(at / "f")) count += entry.is_regular_file() ? 1 : 0;
    return std::to_string(count);
  });
  EXPECT_EQ(seen, "20000");
}

TEST(MountWay, IsFoundByTrying) {
  const snapshot::TestFolder folder;
  const auto way = find_mount_way(folder.path());
  ASSERT_TRUE(way) << way.error().message;
  EXPECT_TRUE(own_mounts_below(folder.path()).empty()) << "trying leaves nothing";
}

}  // namespace
}  // namespace slipway::data

// Mounted data in a real attempt: the supervisor, the process that serves, and a job that reads.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include "data/mount/mount_table.h"
#include "data/mount/serve.h"
#include "node/supervisor_fixture.h"

namespace slipway::node {
namespace {

using ::testing::HasSubstr;

class SupervisorMounts : public SupervisorFixture {
 protected:
  void SetUp() override {
    SupervisorFixture::SetUp();
    ASSERT_TRUE(std::filesystem::create_directory(folder_ / "source"));
    ASSERT_TRUE(std::filesystem::create_directory(folder_ / "mounted"));
    spec_.mounts = {(folder_ / "mounted").string()};
  }

  void TearDown() override {
    SupervisorFixture::TearDown();
    if (!view_.empty())
      EXPECT_TRUE(comes_about([this] { return processes_in_view() == 0; }))
          << "a process is left in " << view_;
    EXPECT_TRUE(data::own_mounts_below(folder_).empty());
  }

  void add_file(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / "source" / name) << content;
    files_.push_back({.path = name,
                      .size = content.size(),
                      .digest = Digest::of(content),
                      .tag = {},
                      .source = 0,
                      .key = name});
  }

  // The order lies where an agent would have put it: at the supervisor's standard input.
  void start_with_mount() {
    const data::Source source{.kind = data::SourceKind::kFolder, .datastore = "images", .location = {}};
    data::MountOrder order{.cache = (folder_ / "cache").string(),
                           .cache_bytes = 1 << 30,
                           .way = data::MountWay::kPrivileged,
                           .server = {},
                           .mounts = {}};
    order.mounts.push_back(
        {.at = spec_.mounts.front(),
         .dataset = "pictures:3",
         .verify = true,
         .sources = {{.source = source, .location = (folder_ / "source").string(), .headers = {}}},
         .content = {},
         .manifest = data::Manifest::make({source}, files_).value().text()});
    const std::string text = data::to_text(order);
    const UniqueFd memory(::memfd_create("order", MFD_CLOEXEC));
    ASSERT_TRUE(write_all(memory.get(), text));
    const UniqueFd before(::dup(0));
    ASSERT_GE(::dup2(memory.get(), 0), 0);
    start();
    ::dup2(before.get(), 0);
  }

  // Which view of the machine the job has, as it says itself in its first line.
  void remember_view(const std::string& out) {
    const size_t begin = out.find("mnt:[");
    ASSERT_NE(begin, std::string::npos) << out;
    view_ = out.substr(begin, out.find(']', begin) - begin + 1);
  }

  int processes_in_view() const {
    int count = 0;
    for (const auto& process : std::filesystem::directory_iterator("/proc")) {
      std::error_code error;
      if (std::filesystem::read_symlink(process.path() / "ns/mnt", error).native() == view_) ++count;
    }
    return count;
  }

  template <class Condition>
  static bool comes_about(const Condition& condition) {
    for (int i = 0; i < 1000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  std::vector<data::File> files_;
  std::string view_;
};

TEST_F(SupervisorMounts, TheJobSeesTheDataAndNobodyElseDoes) {
  add_file("a.txt", "hello");
  shell("readlink /proc/self/ns/mnt; cat " + spec_.mounts.front() + "/a.txt; touch " + spec_.mounts.front() +
        "/b || true");
  start_with_mount();
  ASSERT_EQ(wait(), 0);
  const Account account = this->account();
  ASSERT_TRUE(account.exit);
  EXPECT_EQ(account.exit->code, 0) << account.exit->reason;
  EXPECT_THAT(account.standard_out, HasSubstr("hello"));
  EXPECT_THAT(account.standard_error, HasSubstr("Read-only file system"));
  remember_view(account.standard_out);
}

TEST_F(SupervisorMounts, NothingIsLeftWhenTheSupervisorIsKilled) {
  add_file("a.txt", "hello");
  shell("readlink /proc/self/ns/mnt; cat " + spec_.mounts.front() + "/a.txt; sleep 100");
  start_with_mount();
  wait_for_output("hello");
  remember_view(account().standard_out);
  EXPECT_GE(processes_in_view(), 3) << "supervisor, server and job";
  kill_supervisor();
  ASSERT_TRUE(end_orphans(folder_, "the supervisor was killed"));
  EXPECT_TRUE(comes_about([this] { return processes_in_view() == 0; }));
}

TEST_F(SupervisorMounts, AJobThatReadsOtherContentThanItsVersionsEndsWithThatSentence) {
  add_file("a.txt", "hello");
  std::ofstream(folder_ / "source/a.txt") << "jello";
  shell("readlink /proc/self/ns/mnt; cat " + spec_.mounts.front() + "/a.txt || true; sleep 100");
  start_with_mount();
  ASSERT_EQ(wait(), 0);
  const Account account = this->account();
  ASSERT_TRUE(account.exit);
  EXPECT_THAT(account.exit->reason,
              HasSubstr("the content of 'a.txt' no longer matches its version, pictures:3"));
  EXPECT_FALSE(account.exit->canceled);
  EXPECT_FALSE(account.exit->good());
  remember_view(account.standard_out);
}

TEST_F(SupervisorMounts, DataThatCannotBeMountedIsToldInTheExitRecord) {
  add_file("a.txt", "hello");
  std::filesystem::remove(folder_ / "mounted");
  shell("echo never");
  start_with_mount();
  ASSERT_EQ(wait(), 0);
  const Account account = this->account();
  ASSERT_TRUE(account.exit);
  EXPECT_EQ(account.exit->code, 126);
  EXPECT_THAT(account.exit->reason, HasSubstr("the run's data could not be mounted"));
  EXPECT_EQ(account.standard_out, "");
}

}  // namespace
}  // namespace slipway::node

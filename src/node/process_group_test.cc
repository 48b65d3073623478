#include "node/process_group.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/cgroup_places.h"
#include "node/process_group_cgroup.h"
#include "node/process_group_marked.h"

namespace slipway::node {
namespace {

using namespace std::chrono_literals;

enum class Way { kUnified, kFreezer, kMarked };

// A process that forks a child which leaves its session; all of it carries the mark.
class Group : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    mark_ = fmt::format("group-{}-{}", ::getpid(), static_cast<int>(GetParam()));
    CgroupPlaces places = find_cgroup_places();
    if (GetParam() == Way::kUnified) places.freezer.reset();
    if (GetParam() == Way::kFreezer) places.unified.reset();
    group_ = GetParam() == Way::kMarked
                 ? make_marked_group(mark_)
                 : make_cgroup_group(places, mark_, {.memory_bytes = 256 << 20, .cpus = 1, .pids = 100});
    ASSERT_TRUE(group_) << "this needs the right to make cgroups: run it as root";
  }
  void TearDown() override {
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
    if (group_) group_->remove();
    for (const auto& folder : folders_) EXPECT_FALSE(std::filesystem::exists(folder)) << folder;
  }

  void spawn(const char* script) {
    const std::string mark = fmt::format("{}={}", launch::kMarkVariable, mark_);
    child_ = ::fork();
    if (child_ != 0) return;
    if (group_->entrance().file >= 0) (void)!::write(group_->entrance().file, "0", 1);
    const char* const argv[] = {"/bin/sh", "-c", script, nullptr};
    const char* const envp[] = {"PATH=/usr/bin:/bin", mark.c_str(), nullptr};
    ::execve("/bin/sh", const_cast<char* const*>(argv), const_cast<char* const*>(envp));
    ::_exit(127);
  }
  template <class Condition>
  void wait_until(Condition holds) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(2ms);
    }
  }
  size_t marked() const {
    size_t count = 0;
    for_each_marked(mark_, [&](pid_t, int) { ++count; });
    return count;
  }

  std::string mark_;
  std::unique_ptr<ProcessGroup> group_;
  std::vector<std::filesystem::path> folders_;
  pid_t child_ = -1;
};

TEST_P(Group, KillsWhateverDetachesItself) {
  EXPECT_TRUE(group_->is_empty());
  spawn("trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 600; :' & sleep 600; :");
  wait_until([&] { return marked() == 4; });
  EXPECT_FALSE(group_->is_empty());
  group_->bound();
  folders_ = group_->folders();
  for (const auto& folder : folders_)
    if (folder != folders_.front()) EXPECT_EQ(Cgroup(folder).processes().size(), 4U) << folder;
  EXPECT_TRUE(group_->cpu_time());
  EXPECT_TRUE(group_->memory_bytes()) << "what was used before bound() is not counted by v1";
  group_->signal_all(SIGTERM);
  group_->kill_all();
  wait_until([&] { return group_->is_empty(); });
  EXPECT_EQ(marked(), 0U);
}

TEST_P(Group, IsEndedByItsMarkWhenItsSupervisorIsGone) {
  spawn("setsid sleep 600 & sleep 600; :");
  wait_until([&] { return marked() == 3; });
  std::thread reaper([&] { ::waitpid(child_, nullptr, 0); });
  const Status ended = end_group(mark_);
  reaper.join();
  child_ = -1;
  EXPECT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(marked(), 0U);
}

// A machine has one hierarchy of cgroups or the other, or both; each that is there is tried.
std::vector<Way> ways_of_this_machine() {
  const CgroupPlaces places = find_cgroup_places();
  std::vector<Way> ways{Way::kMarked};
  if (places.unified) ways.push_back(Way::kUnified);
  if (places.freezer) ways.push_back(Way::kFreezer);
  return ways;
}

TEST(CgroupPlaces, AreThereOnTheMachineThatTests) {
  EXPECT_GT(ways_of_this_machine().size(), 1U) << "this needs cgroups: mount them";
}

INSTANTIATE_TEST_SUITE_P(Ways, Group, ::testing::ValuesIn(ways_of_this_machine()),
                         [](const auto& chosen) -> std::string {
                           if (chosen.param == Way::kUnified) return "Unified";
                           return chosen.param == Way::kFreezer ? "Freezer" : "Marked";
                         });

// In a cgroup of the test's own, so that nobody else's is swept.
TEST(SweepEmptyGroups, RemovesWhatIsOldAndEmptyAndNothingElse) {
  const auto own = find_cgroup_places().unified;
  ASSERT_TRUE(own) << "this needs cgroups v2: mount them";
  const Cgroup place(*own / fmt::format("sweep-test-{}", ::getpid()));
  ASSERT_TRUE(place.create()) << "this needs the right to make cgroups: run it as root";
  CgroupPlaces places;
  places.unified = place.folder();
  const Cgroup empty(place.folder() / "slipway-a");
  const Cgroup used(place.folder() / "slipway-b");
  const Cgroup other(place.folder() / "other");
  for (const Cgroup* cgroup : {&empty, &used, &other}) ASSERT_TRUE(cgroup->create());
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  ASSERT_TRUE(used.write("cgroup.procs", std::to_string(child)));
  sweep_empty_groups(std::chrono::hours(1), places);
  EXPECT_TRUE(empty.has("cgroup.procs")) << "new";
  sweep_empty_groups(std::chrono::hours(-1), places);
  EXPECT_FALSE(empty.has("cgroup.procs"));
  EXPECT_TRUE(used.has("cgroup.procs"));
  EXPECT_TRUE(other.has("cgroup.procs"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const Cgroup* cgroup : {&used, &other, &place}) EXPECT_TRUE(cgroup->remove());
}

TEST(EndGroup, RefusesAMarkThatIsAPath) {
  EXPECT_FALSE(end_group("../../x"));
}

}  // namespace
}  // namespace slipway::node

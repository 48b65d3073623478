#include "base/cgroup_places.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace slipway {
namespace {

TEST(CgroupPlaces, AreFoundOnAHybridMachine) {
  const CgroupPlaces places = find_cgroup_places(
      "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:4 - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
      "4:memory:/api/53d\n1:cpu,cpuacct:/\n0::/user\n");
  EXPECT_EQ(places.unified, "/sys/fs/cgroup/unified/user");
  EXPECT_EQ(places.memory, "/sys/fs/cgroup/memory/api/53d");
  EXPECT_EQ(places.cpu, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(places.cpuacct, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_FALSE(places.freezer);
  EXPECT_FALSE(places.pids);
}

TEST(CgroupPlaces, AreFoundInAContainerThatSeesAPartOfTheHierarchy) {
  const CgroupPlaces places = find_cgroup_places(
      "41 31 0:38 /docker/abc /sys/fs/my\\040cgroup rw - cgroup2 cgroup rw\n", "0::/docker/abc/job\n");
  EXPECT_EQ(places.unified, "/sys/fs/my cgroup/job");
  EXPECT_EQ(
      find_cgroup_places("41 31 0:38 /docker/abc /cg rw - cgroup2 cgroup rw\n", "0::/elsewhere\n").unified,
      "/cg");
}

TEST(CgroupPlaces, AreNoneForTextThatIsNone) {
  EXPECT_FALSE(find_cgroup_places("", "").unified);
  EXPECT_FALSE(find_cgroup_places("a b c\n - \n1 2 3 4 5 6 - cgroup2 x\n", "::\nx\n").unified);
}

// Plain folders with the files of v2 that are looked at.
class NearestBounding : public ::testing::Test {
 protected:
  NearestBounding() {
    std::string pattern = (std::filesystem::temp_directory_path() / "slipway-cgroups-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    for (const char* place : {"", "user.slice", "user.slice/session.scope"}) give(place, "");
  }
  ~NearestBounding() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  void give(const std::filesystem::path& place, std::string_view controllers) const {
    std::filesystem::create_directories(root_ / place);
    std::ofstream(root_ / place / "cgroup.subtree_control") << controllers << "\n";
    std::ofstream(root_ / place / "cgroup.procs") << "";
  }
  std::filesystem::path nearest() const { return nearest_bounding(own(), root_); }
  std::filesystem::path own() const { return root_ / "user.slice/session.scope"; }

  std::filesystem::path root_;
};

TEST_F(NearestBounding, IsOurOwnWhenNothingAboveGivesLimits) {
  give("user.slice", "cpu pids memory.high");
  EXPECT_EQ(nearest(), own());
}

TEST_F(NearestBounding, IsTheFirstOnTheWayUpThatGivesMemory) {
  give("", "cpu memory pids");
  EXPECT_EQ(nearest(), root_);
  give("user.slice", "memory pids");
  EXPECT_EQ(nearest(), root_ / "user.slice");
  give("user.slice/session.scope", "memory");
  EXPECT_EQ(nearest(), own());
}

TEST_F(NearestBounding, LooksNoHigherThanTheMount) {
  give("", "memory");
  EXPECT_EQ(nearest_bounding(own(), root_ / "user.slice"), own());
}

}  // namespace
}  // namespace slipway

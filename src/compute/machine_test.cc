#include "compute/machine.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "store/testing.h"

namespace slipway::compute {
namespace {

namespace fs = std::filesystem;

class MachineTest : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& content) {
    const fs::path path = root_.path() / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }
  void SetUp() override { write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n"); }
  Machine detect(int affinity = 8) { return detect_machine_below(root_.path(), affinity); }

  store::TestFolder root_;
};

TEST_F(MachineTest, WithoutControlGroupsAffinityAndInstalledMemoryCount) {
  EXPECT_EQ(detect(3).cpus, 3);
  EXPECT_EQ(detect().memory_bytes, uint64_t{16} << 30);
}

TEST_F(MachineTest, TheTightestGroupOfVersionTwoCounts) {
  write("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
  write("proc/self/cgroup", "0::/a.slice/b.service\n");
  write("sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/a.slice/memory.max", "max\n");
  write("sys/fs/cgroup/a.slice/b.service/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/a.slice/b.service/memory.max", "1073741824\n");
  EXPECT_EQ(detect().cpus, 1.5);
  EXPECT_EQ(detect().memory_bytes, uint64_t{1} << 30);
}

TEST_F(MachineTest, TheLimitsOfVersionOneCount) {
  write("proc/self/mountinfo",
        "30 1 0:26 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
        "31 1 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  write("proc/self/cgroup", "4:memory:/x/y\n3:cpu,cpuacct:/x\n");
  write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "2147483648\n");
  write("sys/fs/cgroup/memory/x/y/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n");
  write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(detect().cpus, 0.5);
  EXPECT_EQ(detect().memory_bytes, uint64_t{2} << 30);
}

TEST_F(MachineTest, AQuotaOfMinusOneIsNone) {
  write("proc/self/mountinfo", "31 1 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
  write("proc/self/cgroup", "3:cpu:/\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(detect().cpus, 8);
}

TEST_F(MachineTest, InAContainerTheGroupIsFoundBelowTheMount) {
  write("proc/self/mountinfo", "30 1 0:26 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  write("proc/self/cgroup", "4:memory:/docker/abc\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
  EXPECT_EQ(detect().memory_bytes, uint64_t{512} << 20);
}

TEST_F(MachineTest, DamagedFilesAreNoLimit) {
  write("proc/self/mountinfo", "garbage\n30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("proc/self/cgroup", "0::/../../etc\nx\n");
  write("sys/fs/cgroup/cpu.max", "bananas\n");
  write("sys/fs/cgroup/memory.max", "");
  EXPECT_EQ(detect().cpus, 8);
  EXPECT_EQ(detect().memory_bytes, uint64_t{16} << 30);
}

TEST(Machine, ThisOneHasCpusAndMemory) {
  const Machine machine = detect_machine();
  EXPECT_GE(machine.cpus, 0.1);
  EXPECT_GT(machine.memory_bytes, uint64_t{64} << 20);
}

TEST(GpuMonitor, WithoutADriverThereIsNothingToTell) {
  const std::array<int, 3> indices{0, 1, -1};
  EXPECT_TRUE(GpuMonitor("libno-such-driver.so").list().empty());
  EXPECT_TRUE(GpuMonitor("libno-such-driver.so").sample(indices).empty());
  EXPECT_TRUE(GpuMonitor("libm.so.6").list().empty()) << "a library that is not NVML";
}

TEST(GpuMonitor, TellsOfEachGpuThereIs) {
  const GpuMonitor monitor;
  for (const Gpu& gpu : monitor.list()) {
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_FALSE(gpu.uuid.empty());
    EXPECT_GT(gpu.memory_bytes, 0U);
    const auto samples = monitor.sample(std::array{gpu.index});
    ASSERT_EQ(samples.size(), 1U);
    EXPECT_LE(samples[0].utilisation_percent, 100);
    EXPECT_LE(samples[0].memory_used_bytes, samples[0].memory_total_bytes);
  }
}

}  // namespace
}  // namespace slipway::compute

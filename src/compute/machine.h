// What this machine lets this process use: the scheduler affinity and the control groups (v1 and v2, the
// process's own and all above it) count, not what is soldered in.
#pragma once

#include <filesystem>
#include <vector>

#include "compute/gpu.h"
#include "protocol/node.h"

namespace slipway::compute {

struct Machine {
  double cpus = 1;  // at least 0.1
  uint64_t memory_bytes = 0;
  std::vector<Gpu> gpus;
};

// Asks afresh each time: a few small files, and NVML once.
Machine detect_machine();

// The same from a root folder that stands for "/" (proc/self/cgroup, proc/self/mountinfo, proc/meminfo,
// sys/fs/...), without GPUs and with the given affinity: for tests.
Machine detect_machine_below(const std::filesystem::path& root, int affinity_cpus);

}  // namespace slipway::compute

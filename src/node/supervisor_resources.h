// What the job uses, sampled now and then.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "compute/gpu.h"
#include "node/process_group.h"

namespace slipway::node {

// Not thread-safe.
class ResourceSampler {
 public:
  // `group` and `clock` outlive it.
  ResourceSampler(ProcessGroup& group, std::vector<int> gpu_indices, const Clock& clock);

  // The payload of a sample record: CPU since the last one (100: one CPU), memory and GPUs now.
  std::string sample();

 private:
  ProcessGroup& group_;
  std::vector<int> gpu_indices_;
  const Clock& clock_;
  std::optional<compute::GpuMonitor> gpus_;  // opened with the first sample: it takes a while
  Duration last_cpu_{0};
  Monotonic last_time_;
};

}  // namespace slipway::node

#include "node/supervisor_resources.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace slipway::node {

ResourceSampler::ResourceSampler(ProcessGroup& group, std::vector<int> gpu_indices, const Clock& clock)
    : group_(group), gpu_indices_(std::move(gpu_indices)), clock_(clock), last_time_(clock.monotonic()) {}

std::string ResourceSampler::sample() {
  json::object object;
  const Monotonic now = clock_.monotonic();
  const double elapsed = std::chrono::duration<double>(now - last_time_).count();
  if (const auto cpu = group_.cpu_time(); cpu && elapsed > 0) {
    const double used = std::chrono::duration<double>(*cpu - last_cpu_).count();
    object.emplace("cpu_percent", json_number(std::round(std::max(0.0, used / elapsed * 100) * 10) / 10));
    last_cpu_ = *cpu;
    last_time_ = now;
  }
  if (const auto memory = group_.memory_bytes()) object.emplace("memory_bytes", *memory);
  json::array gpus;
  if (!gpu_indices_.empty()) {
    if (!gpus_) gpus_.emplace();
    for (const compute::GpuSample& gpu : gpus_->sample(gpu_indices_))
      gpus.push_back(json::object{{"index", gpu.index},
                                  {"utilisation_percent", gpu.utilisation_percent},
                                  {"memory_used_bytes", gpu.memory_used_bytes},
                                  {"memory_total_bytes", gpu.memory_total_bytes}});
  }
  object.emplace("gpus", std::move(gpus));
  return json::serialize(object);
}

}  // namespace slipway::node

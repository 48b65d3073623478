// What the nodes of a partition come to: how many are in which state, and how large the largest is.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "compute/allocator.h"

namespace slipway::compute {

class NodeSummary {
 public:
  explicit NodeSummary(std::string partition) : partition_(std::move(partition)) {}

  // As slurmrestd tells of it.
  void add(const json::object& node);
  // `state` as sinfo writes it, in small letters, with a mark such as '~' for a node that is powered down.
  void add(std::string_view state, double cpus, uint64_t memory_mb, int gpus);

  const EngineNodes& result() const { return result_; }

 private:
  const std::string partition_;  // empty: all
  EngineNodes result_;
};

// The number of GPUs in "gpu:a100:4(S:0-1),fpga:1".
int gpus_in(std::string_view gres);

}  // namespace slipway::compute

// The arithmetic of shares of a node.
//
// CPUs are counted in thousandths, so that ten runs of 0.1 CPUs fill one CPU exactly and an empty node is
// exactly empty again when the last of them has left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "protocol/job.h"
#include "protocol/node.h"

namespace slipway::compute {

struct Amount {
  int64_t milli_cpus = 0;
  int64_t memory_bytes = 0;
  int gpus = 0;
  bool operator==(const Amount&) const = default;
  Amount& operator+=(const Amount& other);
  Amount& operator-=(const Amount& other);
  bool fits_in(const Amount& room) const;
};

Amount to_amount(const NodeCapacity& capacity);
Amount to_amount(const Resources& resources);
Resources to_resources(const Amount& amount);
std::string cpus_text(int64_t milli_cpus);      // "1 CPU", "0.5 CPUs"
std::string memory_text(int64_t memory_bytes);  // "512 MiB", "3.5 GiB"
std::string gpus_text(int gpus);                // "1 GPU"
std::string to_text(const Amount& amount);      // "2 CPUs, 3.5 GiB and 1 GPU"

// What a node has set aside for a run.
struct Grant {
  NodeId node;
  Resources granted;  // CPUs and memory never 0
  std::vector<int> gpu_indices;
};

// A job that names nothing asks for the whole node, GPUs included.
bool asks_for_whole_node(const Resources& asked);

// What `asked` comes to on a node of that size: the whole node when nothing is named; otherwise what is
// named, and of the CPUs or the memory that are not named the same fraction as of the largest that is. CPUs
// and memory of the result are never 0; it may be larger than the node, and then fits nowhere.
Amount share_of(const Resources& asked, const Amount& node);

}  // namespace slipway::compute

#include "compute/engines/slurm/node_summary.h"

#include <algorithm>
#include <charconv>

namespace slipway::compute {
namespace {

bool has(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

}  // namespace

int gpus_in(std::string_view gres) {
  int total = 0;
  while (!gres.empty()) {
    const size_t comma = gres.find(',');
    std::string_view item = gres.substr(0, comma);
    gres = comma == std::string_view::npos ? std::string_view() : gres.substr(comma + 1);
    if (!item.starts_with("gpu:")) continue;
    item = item.substr(0, item.find('('));
    const std::string_view digits = item.substr(item.rfind(':') + 1);
    int count = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), count).ec == std::errc())
      total += count;
  }
  return total;
}

void NodeSummary::add(const json::object& node) {
  std::string state;
  std::string gres;
  std::vector<std::string> flags;
  std::vector<std::string> partitions;
  double cpus = 0;
  uint64_t memory_mb = 0;
  JsonFields fields(node, "a node of Slurm");
  fields.optional("state", state);
  fields.optional("gres", gres);
  fields.optional("state_flags", flags);
  fields.optional("partitions", partitions);
  fields.optional("cpus", cpus);
  fields.optional("real_memory", memory_mb);
  if (!partition_.empty() && !has(partitions, partition_)) return;
  for (const char* flag : {"POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN"})
    if (has(flags, flag)) state += '~';
  for (const char* flag : {"DRAIN", "FAIL", "NOT_RESPONDING"})
    if (has(flags, flag)) state = "down";
  add(state, cpus, memory_mb, gpus_in(gres));
}

void NodeSummary::add(std::string_view state, double cpus, uint64_t memory_mb, int gpus) {
  ++result_.total;
  if (state.starts_with("down") || state.starts_with("drain") || state.starts_with("fail") ||
      state.ends_with('*')) {
    ++result_.down;
  } else if (state.ends_with('~') || state.ends_with('%')) {
    ++result_.asleep;
  } else if (state.starts_with("idle")) {
    ++result_.idle;
  } else {
    ++result_.busy;
  }
  NodeCapacity& largest = result_.largest;
  largest.cpus = std::max(largest.cpus, cpus);
  largest.memory_bytes = std::max(largest.memory_bytes, memory_mb << 20);
  largest.gpus = std::max(largest.gpus, gpus);
}

}  // namespace slipway::compute

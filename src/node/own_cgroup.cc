#include "node/own_cgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/cgroup_places.h"
#include "base/file.h"
#include "base/log.h"
#include "node/process_group_cgroup.h"

namespace slipway::node {
namespace {

namespace fs = std::filesystem;

// Begins like the groups of jobs, so that it is swept like them once it is empty.
constexpr const char* kLeaf = "slipway-programs";

bool is_ours(pid_t pid) {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  const fs::path other = fs::read_symlink(fmt::format("/proc/{}/exe", pid), error);
  return !error && own == other;
}

// Repeated for what is forked meanwhile.
bool vacate(const Cgroup& own, const Cgroup& leaf) {
  constexpr int kMaxRounds = 8;
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::vector<pid_t> pids = own.processes();
    if (pids.empty()) return true;
    if (!std::ranges::all_of(pids, is_ours)) return false;
    for (const pid_t pid : pids) leaf.write("cgroup.procs", std::to_string(pid));
  }
  return false;
}

void bring_back(const Cgroup& own, const Cgroup& leaf) {
  for (const pid_t pid : leaf.processes()) own.write("cgroup.procs", std::to_string(pid));
  (void)leaf.remove();
}

}  // namespace

void make_room_for_limits() {
  const CgroupPlaces places = find_cgroup_places();
  if (!places.unified || places.memory || bounds_memory(*places.unified)) return;
  const Cgroup own(*places.unified);
  const auto controllers = read_file(*places.unified / "cgroup.controllers", 4096);
  if (!controllers || !controllers->contains("memory")) return;
  // The root of all may hold processes and give controllers at once.
  if (!own.write("cgroup.subtree_control", "+memory")) {
    const Cgroup leaf(*places.unified / kLeaf);
    if (!std::ranges::all_of(own.processes(), is_ours) || !leaf.create()) return;
    if (!vacate(own, leaf) || !own.write("cgroup.subtree_control", "+memory")) {
      bring_back(own, leaf);
      return;
    }
  }
  for (const char* controller : {"+cpu", "+pids"}) own.write("cgroup.subtree_control", controller);
  log_info("group.limits_enabled", {{"cgroup", places.unified->string()}});
}

}  // namespace slipway::node

// Where on this machine cgroups are made: read from /proc and the hierarchies, without touching anything.
#pragma once

#include <sys/types.h>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace slipway {

// The folders in which new groups are made: in v1 a process's own cgroup; see nearest_bounding for v2.
struct CgroupPlaces {
  std::optional<std::filesystem::path> unified;  // v2
  std::optional<std::filesystem::path> freezer;  // v1, and so on
  std::optional<std::filesystem::path> memory;
  std::optional<std::filesystem::path> cpu;
  std::optional<std::filesystem::path> cpuacct;
  std::optional<std::filesystem::path> pids;
  std::vector<std::filesystem::path> mounts;  // of all those hierarchies: where groups of others may be
};

// From the texts of /proc/self/mountinfo and /proc/self/cgroup; `unified` is the process's own cgroup.
CgroupPlaces find_cgroup_places(std::string_view mountinfo, std::string_view own_cgroups);
// Those of a process of this machine (0: of this one), `unified` being the nearest that bounds.
CgroupPlaces find_cgroup_places(pid_t pid = 0);

// True when new groups in this folder of v2 can be given a limit of memory, by this process.
bool bounds_memory(const std::filesystem::path& place);
// In v2 a cgroup that holds processes cannot limit its children, and our own holds us. So: the nearest
// folder, from `own` up to the mount, that gives its children the memory controller and lets us make some;
// `own` when there is none.
std::filesystem::path nearest_bounding(const std::filesystem::path& own, const std::filesystem::path& mount);

}  // namespace slipway

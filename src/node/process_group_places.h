// Where on this machine cgroups are made: read from /proc, decided here without touching anything.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace slipway::node {

// The folder of this process's own cgroup in each hierarchy of use; new groups are made below it.
struct CgroupPlaces {
  std::optional<std::filesystem::path> unified;  // v2
  std::optional<std::filesystem::path> freezer;  // v1, and so on
  std::optional<std::filesystem::path> memory;
  std::optional<std::filesystem::path> cpu;
  std::optional<std::filesystem::path> cpuacct;
  std::optional<std::filesystem::path> pids;
  std::vector<std::filesystem::path> mounts;  // of all those hierarchies: where groups of others may be
};

// From the texts of /proc/self/mountinfo and /proc/self/cgroup.
CgroupPlaces find_cgroup_places(std::string_view mountinfo, std::string_view own_cgroups);
CgroupPlaces find_cgroup_places();

}  // namespace slipway::node

#include "compute/machine.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

#include "base/file.h"

namespace slipway::compute {

namespace fs = std::filesystem;

namespace {

constexpr double kLeastCpus = 0.1;
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// "max", "-1" and what is not a number mean no limit.
std::optional<uint64_t> read_number(const fs::path& path) {
  const auto text = read_file(path, 4096);
  if (!text) return std::nullopt;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

struct CgroupMount {
  std::string root;  // of the hierarchy, as seen here
  std::string mount_point;
};

bool lists(std::string_view comma_separated, std::string_view word) {
  std::istringstream words{std::string(comma_separated)};
  for (std::string one; std::getline(words, one, ',');)
    if (one == word) return true;
  return false;
}

// Version 2 when `controller` is empty.
std::optional<CgroupMount> find_mount(const fs::path& root, std::string_view controller) {
  const auto table = read_file(root / "proc/self/mountinfo");
  if (!table) return std::nullopt;
  std::istringstream lines(*table);
  for (std::string line; std::getline(lines, line);) {
    // id parent major:minor root mount-point options [tags] - type source super-options
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream left(line);
    std::istringstream right(line.substr(dash + 3));
    std::string id, parent, device, type, source, options;
    CgroupMount mount;
    left >> id >> parent >> device >> mount.root >> mount.mount_point;
    right >> type >> source >> options;
    if (controller.empty() ? type == "cgroup2" : type == "cgroup" && lists(options, controller)) return mount;
  }
  return std::nullopt;
}

std::optional<std::string> find_group(const fs::path& root, std::string_view controller) {
  const auto table = read_file(root / "proc/self/cgroup");
  if (!table) return std::nullopt;
  std::istringstream lines(*table);
  for (std::string line; std::getline(lines, line);) {
    // number:controllers:path
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : lists(controllers, controller))
      return line.substr(second + 1);
  }
  return std::nullopt;
}

// The folders of the process's own group and of all groups above it that can be seen from here.
std::vector<fs::path> group_folders(const fs::path& root, std::string_view controller) {
  const auto mount = find_mount(root, controller);
  auto group = find_group(root, controller);
  if (!mount || !group) return {};
  // In a container the mount may begin below the hierarchy's root, and the group be named from that root.
  if (mount->root != "/" && group->starts_with(mount->root)) group = group->substr(mount->root.size());
  const fs::path top = root / fs::path(mount->mount_point).relative_path();
  std::vector<fs::path> folders{top};
  for (const fs::path& part : fs::path(*group).relative_path()) {
    if (part == "..") break;
    const fs::path next = folders.back() / part;
    std::error_code ignored;
    if (part.empty() || !fs::is_directory(next, ignored)) break;
    folders.push_back(next);
  }
  return folders;
}

double cpu_limit(const fs::path& root) {
  double limit = std::numeric_limits<double>::infinity();
  const auto apply = [&](std::optional<uint64_t> quota, std::optional<uint64_t> period) {
    if (quota && period && *quota > 0 && *period > 0)
      limit = std::min(limit, static_cast<double>(*quota) / static_cast<double>(*period));
  };
  for (const fs::path& folder : group_folders(root, "")) {
    const auto text = read_file(folder / "cpu.max", 4096);  // "200000 100000" or "max 100000"
    if (!text || text->starts_with("max")) continue;
    uint64_t quota = 0;
    uint64_t period = 0;
    std::istringstream(*text) >> quota >> period;
    apply(quota, period);
  }
  for (const fs::path& folder : group_folders(root, "cpu"))
    apply(read_number(folder / "cpu.cfs_quota_us"), read_number(folder / "cpu.cfs_period_us"));
  return limit;
}

uint64_t memory_limit(const fs::path& root) {
  uint64_t limit = kNoLimit;
  for (const fs::path& folder : group_folders(root, ""))
    limit = std::min(limit, read_number(folder / "memory.max").value_or(kNoLimit));
  for (const fs::path& folder : group_folders(root, "memory"))
    limit = std::min(limit, read_number(folder / "memory.limit_in_bytes").value_or(kNoLimit));
  return limit;
}

uint64_t installed_memory(const fs::path& root) {
  const auto text = read_file(root / "proc/meminfo", 1 << 16);
  if (!text) return 0;
  const size_t line = text->find("MemTotal:");
  if (line == std::string::npos) return 0;
  uint64_t kibibytes = 0;
  std::istringstream(text->substr(line + 9, 40)) >> kibibytes;
  return kibibytes * 1024;
}

int affinity_cpus() {
  // Sized for the largest kernels; sched_getaffinity fails when the set is smaller than the kernel's.
  constexpr int kMostCpus = 8192;
  cpu_set_t* const set = CPU_ALLOC(kMostCpus);
  const size_t size = CPU_ALLOC_SIZE(kMostCpus);
  const int count = ::sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 1;
  CPU_FREE(set);
  return std::max(count, 1);
}

}  // namespace

Machine detect_machine_below(const fs::path& root, int affinity) {
  Machine machine;
  machine.cpus = std::max(kLeastCpus, std::min(static_cast<double>(affinity), cpu_limit(root)));
  machine.memory_bytes = std::min(installed_memory(root), memory_limit(root));
  return machine;
}

Machine detect_machine() {
  Machine machine = detect_machine_below("/", affinity_cpus());
  machine.gpus = GpuMonitor().list();
  return machine;
}

}  // namespace slipway::compute

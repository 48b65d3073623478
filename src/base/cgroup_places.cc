#include "base/cgroup_places.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "base/file.h"

namespace slipway {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// The kernel writes blanks and backslashes in paths as \040 and the like.
std::string unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// "4:memory:/a/b" -> memory: /a/b; the v2 line "0::/a" has an empty controller.
std::map<std::string, std::string, std::less<>> own_paths(std::string_view own_cgroups) {
  std::map<std::string, std::string, std::less<>> paths;
  for (const std::string_view line : split(own_cgroups, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    for (const std::string_view controller : split(line.substr(first + 1, second - first - 1), ','))
      paths.emplace(controller, line.substr(second + 1));
  }
  return paths;
}

// The mount may show only a part of the hierarchy (`root`), as in a container; outside it nothing can be
// reached.
std::filesystem::path place_below(const std::string& mount_point, const std::string& root,
                                  std::string_view own) {
  if (root != "/") {
    if (!own.starts_with(root)) return mount_point;
    own.remove_prefix(root.size());
  }
  while (own.starts_with('/')) own.remove_prefix(1);
  return own.empty() ? std::filesystem::path(mount_point) : std::filesystem::path(mount_point) / own;
}

void assign(CgroupPlaces& places, std::string_view controller, const std::filesystem::path& place) {
  if (controller == "freezer") places.freezer = place;
  if (controller == "memory") places.memory = place;
  if (controller == "cpu") places.cpu = place;
  if (controller == "cpuacct") places.cpuacct = place;
  if (controller == "pids") places.pids = place;
}

}  // namespace

CgroupPlaces find_cgroup_places(std::string_view mountinfo, std::string_view own_cgroups) {
  const auto own = own_paths(own_cgroups);
  CgroupPlaces places;
  for (const std::string_view line : split(mountinfo, '\n')) {
    // id parent major:minor root mount-point options [tags...] - type source super-options
    const size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto before = split(line.substr(0, dash), ' ');
    const auto after = split(line.substr(dash + 3), ' ');
    if (before.size() < 6 || after.size() < 3) continue;
    const std::string root = unescape(before[3]);
    const std::string mount_point = unescape(before[4]);
    if (after[0] == "cgroup2" || after[0] == "cgroup") places.mounts.emplace_back(mount_point);
    if (after[0] == "cgroup2") {
      const auto found = own.find("");
      if (found != own.end()) places.unified = place_below(mount_point, root, found->second);
    } else if (after[0] == "cgroup") {
      for (const std::string_view controller : split(after[2], ',')) {
        const auto found = own.find(controller);
        if (found != own.end()) assign(places, controller, place_below(mount_point, root, found->second));
      }
    }
  }
  return places;
}

CgroupPlaces find_cgroup_places(pid_t pid) {
  const std::string process = pid > 0 ? fmt::format("/proc/{}/", pid) : "/proc/self/";
  const auto mountinfo = read_file("/proc/self/mountinfo");
  const auto own = read_file(process + "cgroup");
  if (!mountinfo || !own) return {};
  CgroupPlaces places = find_cgroup_places(*mountinfo, *own);
  if (!places.unified) return places;
  for (const std::filesystem::path& mount : places.mounts)
    if (!std::filesystem::relative(*places.unified, mount).string().starts_with(".."))
      places.unified = nearest_bounding(*places.unified, mount);
  return places;
}

bool bounds_memory(const std::filesystem::path& place) {
  const auto given = read_file(place / "cgroup.subtree_control", 4096);
  if (!given) return false;
  for (const std::string_view controller : split(std::string_view(*given).substr(0, given->find('\n')), ' '))
    if (controller == "memory")
      return ::access(place.c_str(), W_OK) == 0 && ::access((place / "cgroup.procs").c_str(), W_OK) == 0;
  return false;
}

std::filesystem::path nearest_bounding(const std::filesystem::path& own, const std::filesystem::path& mount) {
  for (std::filesystem::path place = own;; place = place.parent_path()) {
    if (bounds_memory(place)) return place;
    if (place == mount || place == place.parent_path()) return own;
  }
}

}  // namespace slipway

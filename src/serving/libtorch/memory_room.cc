#include "serving/libtorch/memory_room.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/file.h"

namespace slipway::serving {
namespace {

namespace fs = std::filesystem;

// "max", as version 2 has it, is no limit; version 1 has a number beyond all memory.
std::optional<uint64_t> number_in(const fs::path& path) {
  const auto text = read_file(path);
  uint64_t number = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

}  // namespace

std::optional<uint64_t> memory_room(const CgroupPlaces& own) {
  std::optional<uint64_t> smallest;
  const auto look = [&](const std::optional<fs::path>& place, const char* file) {
    for (fs::path path = place.value_or(""); path.has_relative_path(); path = path.parent_path()) {
      if (const auto limit = number_in(path / file)) smallest = std::min(smallest.value_or(*limit), *limit);
      if (std::ranges::find(own.mounts, path) != own.mounts.end()) return;
    }
  };
  look(own.unified, "memory.max");
  look(own.memory, "memory.limit_in_bytes");
  return smallest;
}

std::optional<uint64_t> memory_room() {
  const auto mounts = read_file("/proc/self/mountinfo");
  const auto groups = read_file("/proc/self/cgroup");
  if (!mounts || !groups) return std::nullopt;
  return memory_room(find_cgroup_places(*mounts, *groups));
}

}  // namespace slipway::serving

#include "data/mount/mount_table.h"

#include <algorithm>
#include <string>

#include "base/file.h"

namespace slipway::data {
namespace {

// Blanks and backslashes stand there as three octal digits behind a backslash.
std::string unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return plain;
}

std::string_view field(std::string_view line, size_t index) {
  for (; index > 0 && !line.empty(); --index)
    line.remove_prefix(std::min(line.find(' '), line.size() - 1) + 1);
  return line.substr(0, line.find(' '));
}

}  // namespace

std::vector<std::filesystem::path> own_mounts_in(std::string_view mountinfo,
                                                 const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> places;
  const std::string inside = folder.string() + "/";
  while (!mountinfo.empty()) {
    const std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(mountinfo.size(), line.size() + 1));
    const size_t dash = line.find(" - ");
    if (dash == std::string_view::npos || !line.substr(dash + 3).starts_with("fuse.slipway ")) continue;
    const std::string place = unescape(field(line, 4));
    if (place == folder || place.starts_with(inside)) places.emplace_back(place);
  }
  // Later mounts stand later, and may lie on earlier ones.
  std::ranges::reverse(places);
  return places;
}

std::vector<std::filesystem::path> own_mounts_below(const std::filesystem::path& folder) {
  const auto text = read_file("/proc/self/mountinfo");
  return text ? own_mounts_in(*text, folder) : std::vector<std::filesystem::path>();
}

}  // namespace slipway::data

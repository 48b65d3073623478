// The mounts of this process's view of the machine, as /proc/self/mountinfo lists them.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace slipway::data {

// Where FUSE mounts of Slipway are, at or below that folder; the innermost first.
std::vector<std::filesystem::path> own_mounts_below(const std::filesystem::path& folder);

// The same from a given text of that form.
std::vector<std::filesystem::path> own_mounts_in(std::string_view mountinfo,
                                                 const std::filesystem::path& folder);

}  // namespace slipway::data

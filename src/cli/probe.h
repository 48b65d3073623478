// Looking at this machine: which programs there are and what they say about themselves.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::cli {

// The program's full path, looked for in $PATH.
std::optional<std::filesystem::path> find_program(std::string_view name);
// The first line a program prints; empty when it fails, prints nothing or takes longer than `time` (it is
// killed).
std::string first_line_of(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          std::chrono::milliseconds time = std::chrono::seconds(3));
// A small file's content without the newline at its end; empty when it cannot be read.
std::string small_file(const std::filesystem::path& path);

}  // namespace slipway::cli

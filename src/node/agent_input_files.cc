#include "node/agent_input_files.h"

#include <fmt/format.h>

#include <iterator>

#include "base/file.h"

namespace slipway::node {
namespace fs = std::filesystem;

std::string bytes_text(uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

Result<fs::path> make_input_folder(const fs::path& attempt, const InputOrder& input) {
  const std::string& wanted = input.wanted.path;
  fs::path at = attempt / "inputs" / input.name;
  if (wanted.starts_with('/')) {
    at = wanted;
  } else if (!wanted.empty()) {
    if (!is_clean_relative_path(wanted))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the path '{}' of input '{}' leaves the working folder", wanted, input.name),
                  "give a relative path without '..', or an absolute one");
    at = attempt / "work" / wanted;
  }
  std::error_code error;
  fs::create_directories(at, error);
  if (error)
    return fail(errno_error(error.value(), fmt::format("create {} for input '{}'", at.string(), input.name)));
  if (input.wanted.mode == DataMode::kMount && !fs::is_empty(at, error) && !error)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("input '{}' cannot be mounted on {}: something is there already", input.name,
                            at.string()),
                "choose another path, or the mode download");
  return at;
}

}  // namespace slipway::node

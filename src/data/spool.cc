#include "data/spool.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>

namespace slipway::data {

Result<UniqueFd> open_spool() {
  const auto folder = std::filesystem::temp_directory_path();
  UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd) return fail(errno_error(errno, fmt::format("create a temporary file in {}", folder.string())));
  return fd;
}

}  // namespace slipway::data

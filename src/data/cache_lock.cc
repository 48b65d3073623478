#include "data/cache_lock.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/file.h"

namespace slipway::data {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 10min;
// Two thirds of what an offset can hold: the chunks follow behind it.
constexpr uint64_t kOffsets = uint64_t{1} << 61;

}  // namespace

Result<CacheLock> CacheLock::take(const std::filesystem::path& file, const Digest& name, uint64_t first,
                                  uint64_t count) {
  SLIPWAY_ASSIGN(UniqueFd fd, open_in_own_folder(file, O_RDWR));
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(std::hash<Digest>()(name) % kOffsets + first);
  lock.l_len = static_cast<off_t>(count);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (auto pause = 1ms;; pause = std::min<std::chrono::milliseconds>(pause * 2, 20ms)) {
    if (::fcntl(fd.get(), F_OFD_SETLK, &lock) == 0) return CacheLock(std::move(fd));
    if (errno != EAGAIN && errno != EACCES && errno != EINTR)
      return fail(errno_error(errno, fmt::format("lock {}", file.string())));
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorCode::kTimeout, "another process has been fetching the same file for ten minutes",
                  "look for a run or a mount that hangs on this machine");
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace slipway::data

#include "serving/confinement.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace slipway::serving {
namespace {

// Version 2 can move files between folders; version 3 knows truncation as a right of its own, which the
// headers of Debian 12 do not.
constexpr long kLeastVersion = 2;
constexpr long kWithTruncate = 3;
constexpr uint64_t kTruncate = 1U << 14;

constexpr uint64_t kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWrite =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
    LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;
constexpr uint64_t kDevices = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
// Those that a file can have, which is no folder.
constexpr uint64_t kOfFiles =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;

Status allow(int rules, const std::filesystem::path& path, uint64_t access) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat facts{};
  if (!place || ::fstat(place.get(), &facts) != 0) return {};
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(facts.st_mode) ? access : access & kOfFiles;
  rule.parent_fd = place.get();
  if (::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) return {};
  return fail(errno_error(errno, fmt::format("allow {}", path.string())));
}

}  // namespace

Result<Confinement> Confinement::to(const Places& places) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < kLeastVersion)
    return fail(ErrorCode::kUnsupported,
                version < 0 ? fmt::format("this kernel has no Landlock: {}", std::strerror(errno))
                            : "the Landlock of this kernel is too old");
  const uint64_t truncate = version >= kWithTruncate ? kTruncate : 0;
  landlock_ruleset_attr handled{};
  handled.handled_access_fs = kRead | kWrite | kDevices | truncate;
  UniqueFd rules(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0)));
  if (!rules) return fail(errno_error(errno, "make rules for Landlock"));
  for (const auto& path : places.read) SLIPWAY_TRY(allow(rules.get(), path, kRead));
  for (const auto& path : places.write) SLIPWAY_TRY(allow(rules.get(), path, kRead | kWrite | truncate));
  return Confinement(std::move(rules));
}

bool Confinement::enter(int rules) {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_landlock_restrict_self, rules, 0) == 0;
}

}  // namespace slipway::serving

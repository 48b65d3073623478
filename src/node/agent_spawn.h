// Starts supervisors.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/result.h"

namespace slipway::node {

// Starts `program supervise FOLDER` in a session of its own, with stdin and stdout at /dev/null, the agent's
// stderr, no other descriptor, default signals, and of the agent's environment what a program needs. With a
// `mount_order` (not -1) that is its stdin. The caller reaps the child.
Result<pid_t> spawn_supervisor(const std::filesystem::path& program, const std::filesystem::path& folder,
                               int mount_order = -1);

}  // namespace slipway::node

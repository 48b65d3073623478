// Mounts that one attempt sees and nobody else: a supervisor enters a mount namespace of its own before it
// starts the job. They vanish with the last process in it, however that dies.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/result.h"
#include "launch/spec.h"

namespace slipway::node {

// Moves this process, which has one thread, into a mount namespace of its own, as root or within a user
// namespace in which it is who it was. Lays each overlay over its folder: what is written there goes to
// `upper`. Puts the root together, where there is one: its files, this machine's /proc, /sys and /dev, and
// the places it is to have of this machine. Whoever is to live in it changes its own root there.
Status enter_private_mounts(const std::vector<launch::Overlay>& overlays,
                            const std::optional<launch::Root>& root = std::nullopt);

// Whether that is possible on this machine for folders below `folder`, found out by doing it in a child. May
// be called from any thread.
bool private_mounts_work(const std::filesystem::path& folder);

}  // namespace slipway::node

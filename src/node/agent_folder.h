// Removes the folder of an attempt, whatever its job has left there.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace slipway::node {

// Removes `folder` and all below it: links are removed, not followed; folders that deny access are opened up;
// what another file system holds is left alone. Depth does not matter. Fine when there is no such folder.
// Repeatable.
Status remove_folder(const std::filesystem::path& folder);

// What an agent that will not come back has left of an attempt: its processes, then its files. kConflict
// while its supervisor lives.
Status clear_attempt(const std::filesystem::path& folder);

}  // namespace slipway::node

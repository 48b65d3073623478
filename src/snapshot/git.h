// The git state of a source folder, asked of the `git` program.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "protocol/job.h"

namespace slipway::snapshot {

// Empty when git is not installed, the folder is in no repository, or nothing was committed yet. `dirty` is
// what `git status` says of the folder, untracked files included; true as well when git takes longer than
// `limit` to tell. Never fails, never prompts, takes no locks and runs nothing that the repository's
// configuration names.
GitState read_git_state(const std::filesystem::path& folder,
                        std::chrono::milliseconds limit = std::chrono::milliseconds(3000));

// "https://user:token@host/x.git?key=1" -> "https://host/x.git"; the user of an ssh address stays, it is no
// secret.
std::string without_credentials(std::string_view url);

}  // namespace slipway::snapshot

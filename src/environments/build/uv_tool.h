// The program uv: on the PATH, or fetched into the home's tools once.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/result.h"
#include "environments/build/workshop.h"

namespace slipway::environments {

// Where uv is without fetching it; empty: nowhere.
std::filesystem::path find_uv(const Workshop& workshop);
// Fetches it from the package index, with the machine's own pip, where it is not there. kUnavailable with the
// command that installs it.
Result<std::filesystem::path> have_uv(const Workshop& workshop);

// What uv is run with: the agent's variables, the settings of the user's pip where uv has none of its own
// (index, certificates, wheels), and the home's cache.
std::map<std::string, std::string> uv_environment(const Workshop& workshop);

}  // namespace slipway::environments

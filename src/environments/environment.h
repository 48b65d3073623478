// Environments: what a job finds when it starts, from a definition by name. Today there is one, the machine's
// own; builders for uv, conda and images come behind the same two calls.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway::environments {

constexpr std::string_view kSystem = "system";

// What an environment adds to a process: folders before PATH, and variables.
struct PreparedEnvironment {
  std::string path_prefix;  // "folder:folder", or empty
  std::map<std::string, std::string> variables;
};

// Lines for the preparing phase's log.
using BuildLog = std::function<void(std::string_view line)>;

// kInvalidArgument for a name that cannot be one, kUnsupported for one that is not there, with what there is.
Status check_environment(std::string_view name);

// Makes the environment ready on this machine, building it when it is not there yet.
Result<PreparedEnvironment> prepare(std::string_view name, const BuildLog& log);

}  // namespace slipway::environments

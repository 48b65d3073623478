// A server in the background.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace slipway::cli {

// Starts this very program with `arguments` in a session of its own, its output appended to `log`, and no
// other open file of ours. Gives its pid.
Result<pid_t> start_in_background(const std::vector<std::string>& arguments,
                                  const std::filesystem::path& log);

// Waits until the home's server.json names `pid` (it answers then) and gives its url. When the process ends
// before that, the error has its exit code's meaning and the lines that it wrote to the log from byte
// `log_begin` on.
Result<std::string> wait_until_it_answers(pid_t pid, const std::filesystem::path& home,
                                          const std::filesystem::path& log, uint64_t log_begin);

}  // namespace slipway::cli

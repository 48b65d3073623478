#include "node/agent_spawn.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/subprocess.h"

namespace slipway::node {
namespace {

// The rest of the agent's environment is nobody's business below it.
constexpr const char* kPassedOn[] = {
    "PATH",
    "HOME",
    "LANG",
    "USER",
    "TMPDIR",
#ifdef SLIPWAY_WITH_FAILPOINTS
    "SLIPWAY_FAILPOINTS",
    "SLIPWAY_FAILPOINT_RECORD",
    "ASAN_OPTIONS",
    "TSAN_OPTIONS",
#endif
};

std::vector<std::string> supervisor_environment() {
  std::vector<std::string> environment;
  for (const char* name : kPassedOn) {
    if (const char* value = std::getenv(name); value != nullptr)
      environment.push_back(fmt::format("{}={}", name, value));
  }
  return environment;
}

}  // namespace

Result<pid_t> spawn_supervisor(const std::filesystem::path& program, const std::filesystem::path& folder,
                               int mount_order) {
  return spawn_program({.program = program,
                        .arguments = {"slipway", "supervise", folder.string()},
                        .environment = supervisor_environment(),
                        .folder = {},
                        .in = mount_order,
                        .err = STDERR_FILENO,
                        .own_session = true});
}

}  // namespace slipway::node

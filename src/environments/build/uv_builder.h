// Environments made by uv: a lock with hashes, a virtual environment of hard links from one cache, bytecode
// made once, and packages that build against others last.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "environments/build/workshop.h"

namespace slipway::environments {

std::unique_ptr<Builder> make_uv_builder();

// The requirement lines of a definition for uv, with what stands in for its conda packages; each of those has
// its line in the log. Slipway's own packages are apart: they come with this program.
struct UvRequirements {
  std::vector<std::string> options;  // of the resolver
  std::vector<std::string> packages;
  std::vector<std::string> companions;
};
Result<UvRequirements> requirements_for_uv(const EnvironmentDefinition& definition, const BuildLog& log);

}  // namespace slipway::environments

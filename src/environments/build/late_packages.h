// Packages that are built against others of the same environment: they look for an installed framework while
// they are built, so they come in a second phase, without isolation.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::environments {

struct LatePackage {
  std::string_view name;                     // as an index has it
  std::vector<std::string_view> needs;       // to be built, besides what it requires to run
  std::vector<std::string_view> frameworks;  // those it can be built against
};
std::span<const LatePackage> late_packages();
const LatePackage* find_late_package(std::string_view name);  // nullptr: it is none

// A lock's lines, in two parts that each keep their order.
struct Phases {
  std::string first;
  std::string second;
  std::vector<std::string> late;  // names of the second
};
Phases split_lock(std::string_view body);

// The names of a lock's packages with their versions.
std::map<std::string, std::string> locked_versions(std::string_view body);

// What the builds of the second phase are told: for horovod, which frameworks there are and that it goes over
// MPI. What the user has set stays.
std::map<std::string, std::string> build_variables(const std::map<std::string, std::string>& versions);

}  // namespace slipway::environments

// The environments that are shipped with Slipway, and which of them is nearest to one of Azure's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/environment.h"

namespace slipway::environments {

constexpr std::string_view kCuratedPrefix = "curated/";

struct CuratedEnvironment {
  std::string name;  // "curated/tensorflow"
  int version = 1;   // of one name they ascend
  std::string description;
  std::string framework_version;  // "2.3"; empty where there is none
  EnvironmentDefinition definition;
};

// By name and version. A version that has been released is never changed: a new one follows it.
std::span<const CuratedEnvironment> curated_environments();

// kNotFound, with the names there are. Version 0 is the newest.
Result<CuratedEnvironment> find_curated(const EnvironmentReference& reference);

// The prefixes that Azure keeps for itself: AzureML and Microsoft, in any case.
bool is_reserved_name(std::string_view name);

// For a reserved name the environment whose framework is the same and whose version is nearest; nullptr where
// nothing shipped is near.
const CuratedEnvironment* nearest_curated(std::string_view reserved_name);

}  // namespace slipway::environments

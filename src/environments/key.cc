#include "environments/key.h"

#include <algorithm>

#include "base/digest.h"
#include "environments/conda_spec.h"
#include "environments/line_text.h"
#include "environments/requirement.h"

namespace slipway::environments {
namespace {

constexpr std::string_view kForm = "slipway environment 1";

// The options of the resolver keep their order and stand first; packages are sorted by what an index calls
// them.
std::vector<std::string> canonical_pip(const std::vector<std::string>& lines) {
  std::vector<std::string> options;
  std::vector<std::string> packages;
  for (const std::string& line : lines) {
    if (is_resolver_option(line)) {
      options.emplace_back(trimmed(line));
      continue;
    }
    Result<Requirement> requirement = parse_requirement(line);
    if (requirement) {
      requirement->name = package_name(requirement->name);
      std::ranges::sort(requirement->extras);
    }
    packages.push_back(requirement ? to_text(*requirement) : std::string(trimmed(line)));
  }
  std::ranges::sort(packages);
  const auto doubled = std::ranges::unique(packages);
  packages.erase(doubled.begin(), doubled.end());
  options.insert(options.end(), packages.begin(), packages.end());
  return options;
}

std::vector<std::string> canonical_conda(const std::vector<std::string>& lines) {
  std::vector<std::string> specs;
  for (const std::string& line : lines) {
    const Result<CondaSpec> spec = parse_conda_spec(line);
    specs.push_back(spec ? to_text(*spec) : std::string(trimmed(line)));
  }
  std::ranges::sort(specs);
  const auto doubled = std::ranges::unique(specs);
  specs.erase(doubled.begin(), doubled.end());
  return specs;
}

}  // namespace

std::string environment_key(const EnvironmentDefinition& definition) {
  json::object content{{"form", kForm}};
  if (definition.user_managed) {
    content["interpreter"] = definition.interpreter;
  } else {
    content["python"] = definition.python;
    content["pip"] = to_json(canonical_pip(definition.pip));
    content["conda"] = to_json(canonical_conda(definition.conda));
    // Channels only matter to packages that come from them.
    if (!definition.conda.empty()) content["channels"] = to_json(definition.conda_channels);
  }
  if (definition.container.enabled) {
    content["image"] = definition.container.image;
    content["dockerfile"] = definition.container.dockerfile;
    content["registry"] = definition.container.registry_address;
  }
  return Digest::of(json::serialize(content)).hex();
}

bool needs_build(const EnvironmentDefinition& definition) {
  return !definition.user_managed || definition.container.enabled;
}

}  // namespace slipway::environments

// Rules of a workspace that replace what cannot be had, or is wrong for the machine. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/environment.h"

namespace slipway::environments {

// Slipway's own package that provides `azureml.*`; its wheel is in the binary (bundle/wheels.h).
constexpr std::string_view kCompanionPackage = "slipway-azureml";

// The two rules that are on unless a workspace removes them:
//   package azureml-*                       met by the companion package
//   image   mcr.microsoft.com/azureml/*     no container, where the definition says which packages it needs
const std::vector<Substitution>& default_substitutions();
bool is_default(const Substitution& rule);

// Beyond what the protocol checks: `from` is a package name (with '*' for a family), the beginning of a
// version or an image pattern, `to` a requirement, a version or an image. kInvalidArgument.
Status check_substitution(const Substitution& rule);

struct Substituted {
  EnvironmentDefinition definition;
  std::vector<std::string> applied;  // one sentence each, for the build log and the run's record
};

// For each package, the interpreter and the image the first rule that fits is applied, once.
//   package  a rule for one package keeps its version constraint unless the rule's requirement has its own; a
//   rule
//            for a family ('*') drops it. Extras and markers stay. What replaces a conda package is a pip
//            one.
//   python   "3.6" fits 3.6 and 3.6.2, never 3.60
//   image    replaces the image; without a replacement there is no container, provided that Python or
//   packages
//            are named: an image that is all there is stays
Substituted apply_substitutions(EnvironmentDefinition definition, const std::vector<Substitution>& rules);

}  // namespace slipway::environments

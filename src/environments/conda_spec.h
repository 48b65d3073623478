// One match specification of conda ("conda-forge::numpy>=1.18,<2") and what pip would call the same.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway::environments {

struct CondaSpec {
  std::string channel;     // of "channel::name"
  std::string name;        // lower case
  std::string constraint;  // "=1.18" any release of 1.18, "==1.18.1", ">=1.18,<2"; empty: any
  std::string build;       // of "name=1.2=py36_0"
  bool operator==(const CondaSpec&) const = default;
};

// Takes "name=1.2", "name==1.2", "name=1.2=build", "name 1.2", "name >=1.2,<2", "name[version='>=1.2']" and a
// channel before "::". kInvalidArgument.
Result<CondaSpec> parse_conda_spec(std::string_view text);
std::string to_text(const CondaSpec& spec);

// The constraint as pip writes it: "=1.18" becomes "==1.18.*". kUnsupported for "1.2|1.4", which pip cannot
// say.
Result<std::string> pip_constraint(const CondaSpec& spec);
// The constraint of `python` as EnvironmentDefinition::python has it: "3.6.2", "3.11" or ">=3.8,<3.11".
std::string python_of(const CondaSpec& spec);

}  // namespace slipway::environments

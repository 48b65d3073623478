// What PyPI calls the packages of conda's channels, for machines without a conda tool. The table is printed
// in docs/environments.md by a test, so that the two never differ.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway::environments {

struct CondaName {
  std::string_view conda;  // may end in '*'
  std::string_view pypi;   // empty: see `why`
  std::string_view why;    // for one without a name on PyPI
  bool needed = true;      // without a name on PyPI: false leaves it out, true cannot be had without conda
};

// Those that differ; a package that is not in it has the same name on PyPI.
std::span<const CondaName> conda_names();

struct CondaOnPyPi {
  std::string requirement;  // the line for uv; empty: nothing is to be installed
  std::string sentence;     // for the build log
};
// What stands in for a conda package where only PyPI can be had. kUnsupported, naming the tool to install,
// for a package that exists only for conda.
Result<CondaOnPyPi> conda_on_pypi(std::string_view conda_spec);

}  // namespace slipway::environments

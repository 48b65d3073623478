// One line that asks for a package, as pip and uv read it (PEP 508), taken apart as far as checks,
// substitutions and comparisons need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace slipway::environments {

struct Requirement {
  std::string name;                 // as written; empty for a bare URL
  std::vector<std::string> extras;  // as written
  std::string constraint;           // ">=1.2,<2" without blanks; empty: any version
  std::string url;                  // of "name @ URL", or of a bare one
  std::string marker;               // behind ';': python_version < "3.8"
  std::string options;              // behind it all: --hash=sha256:...
  bool operator==(const Requirement&) const = default;
};

// The name by which an index knows it: lower case, with '-' for each run of '-', '_' and '.'.
std::string package_name(std::string_view name);

// True for a line such as "--pre" that tells the resolver how to go about it, and asks for no package.
bool is_resolver_option(std::string_view line);

// kInvalidArgument for a line that asks for no package, for a local path, and for a URL with a password.
Result<Requirement> parse_requirement(std::string_view line);
std::string to_text(const Requirement& requirement);

// kInvalidArgument for an option that is not one of those an environment may have (index, find-links, pre,
// binary choices), or whose value is local or holds a password. The answer has the long name and one blank.
Result<std::string> parse_resolver_option(std::string_view line);

}  // namespace slipway::environments

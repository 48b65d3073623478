// Which packages an environment names, or was resolved to, and how two of them differ.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "protocol/environment.h"

namespace slipway::environments {

// By the name an index uses: a version, a constraint or an address; empty: any version.
using Packages = std::map<std::string, std::string>;

// As the definition asks for them, Python and the image among them.
Packages packages_of(const EnvironmentDefinition& definition);
// As a lock has them, whichever builder made it: requirement lines ("numpy==1.26.4 --hash=..."), conda's
// explicit list (".../numpy-1.26.4-py311_0.conda#digest") and "image NAME@sha256:...". Other lines are passed
// over.
Packages packages_of_lock(std::string_view lock);

// [{"name", "change": "added" | "removed" | "changed", "from", "to"}], by name; null where there is none.
json::array package_changes(const Packages& from, const Packages& to);

}  // namespace slipway::environments

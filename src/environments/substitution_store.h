// The rules of a workspace in the store: its own in the order they were added, then those that are on by
// default.
#pragma once

#include <vector>

#include "protocol/environment.h"
#include "store/database.h"

namespace slipway::environments {

Result<std::vector<Substitution>> list_substitutions(store::Reader& reader, const WorkspaceName& workspace);
// Checked before it is stored (substitutions.h). A rule for the same package, version or image is replaced;
// adding a default one puts it back.
Status add_substitution(store::Writer& writer, const WorkspaceName& workspace, const Substitution& rule);
// Also one of the defaults. kNotFound.
Status remove_substitution(store::Writer& writer, const WorkspaceName& workspace, const std::string& kind,
                           const std::string& from);

}  // namespace slipway::environments

// The commands on datastores, and what they share.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/session.h"

namespace slipway::cli {

std::string datastore_path(const Session& session, const std::string& name);
// ls, upload, download, rm
void add_datastore_files(Command datastore, Context& context);

}  // namespace slipway::cli

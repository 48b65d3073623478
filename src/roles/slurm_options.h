// What the Slurm engine needs of the control plane.
#pragma once

#include <filesystem>
#include <string>

#include "base/clock.h"
#include "compute/engines/slurm/slurm_allocator.h"
#include "store/database.h"

namespace slipway::roles {

// All outlive what is made of it. `server_url` is where nodes find this server, `certificate_file` its own
// certificate; empty: it has none.
compute::SlurmOptions slurm_options(store::Database& database, const std::filesystem::path& home,
                                    const Clock& clock, const std::string& server_url,
                                    const std::string& certificate_file);

}  // namespace slipway::roles

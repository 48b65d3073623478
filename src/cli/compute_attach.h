// Clusters that Slipway does not make but uses: those of Slurm.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "cli/command.h"
#include "cli/context.h"

namespace slipway::cli {

struct SlurmOptions {
  std::optional<std::string> endpoint, user, partition, low_partition, account, shared, scratch, server_url;
  std::string token_file;
};

// To `attach` and to `update`.
void add_slurm_options(Command command, SlurmOptions& options);
// Adds what was given to the body of a request: the settings, and the token from its file or, for a `fresh`
// cluster that is reached by TCP, from SLURM_JWT.
Status add_slurm_fields(const SlurmOptions& options, bool fresh, json::object& body);

void add_compute_attach(Command compute, Context& context);

// The facts about a cluster's engine, for `compute show`; empty for clusters of this machine.
std::vector<std::pair<std::string, std::string>> engine_facts(const json::object& cluster);

}  // namespace slipway::cli

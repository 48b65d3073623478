// How a cluster of Slurm's is reached, and what its jobs ask for. The JWT is not in here: it is sealed in the
// store, and only the engine opens it.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace slipway::compute {

// Instead of an address: sbatch, squeue and scancel of the server's machine.
constexpr std::string_view kSlurmCommands = "commands";

struct SlurmSettings {
  std::string endpoint;       // of slurmrestd: unix:/path, http(s)://host:port; or kSlurmCommands
  std::string user;           // whom a JWT is for; empty: the server's own
  std::string partition;      // empty: Slurm's default
  std::string low_partition;  // for clusters of low priority
  std::string account;
  std::string shared;      // a folder that all nodes see: programs, environments and cached files lie there
  std::string scratch;     // a folder of each node's own; empty: /var/tmp/slipway-UID
  std::string server_url;  // how the nodes reach this server; empty: its own address
  bool operator==(const SlurmSettings&) const = default;
};

// Checks what was given. kInvalidArgument names the field.
Status check(const SlurmSettings& settings);

json::object to_json(const SlurmSettings& settings);
// Fields that are missing keep what `settings` has; others than the known ones are refused.
Status read_slurm_settings(const json::object& object, SlurmSettings& settings);

}  // namespace slipway::compute

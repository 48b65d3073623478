// The environment of a run: what was decided when it was submitted, and what its node says it ran with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "environments/lock_store.h"
#include "environments/packages.h"
#include "environments/resolution.h"
#include "runs/run.h"
#include "store/database.h"

namespace slipway::runs {

struct RunEnvironment {
  std::string reference;  // "tf:3"
  std::string key;
  std::vector<Substitution> substitutions;  // of the workspace at the time
  std::string note;                         // what stands in for the named one
  std::string pinned_lock;  // digest of the lock a rerun must have; empty: whichever is current
  json::value report;       // of the node, null until it came
};

// Decides for a run that is being submitted. A repeated run takes version, rules and lock from the original.
Result<environments::Resolved> resolve_for(store::Reader& reader, const WorkspaceName& workspace,
                                           const std::string& environment, const RunEnvironment* original);
// Of a run without a row, such as one of the machine's own programs, there is nothing.
Result<std::optional<RunEnvironment>> load_run_environment(store::Reader& reader, const Run& run);
// The digest of the lock it ran with, or that it must run with; empty: not known yet.
std::string lock_of(const RunEnvironment& environment);
Status store_run_environment(store::Writer& writer, const Run& run, const environments::Resolved& resolved,
                             const std::string& pinned_lock);

// The order's part for an attempt that is claimed now, with the lock that other runs may have made meanwhile
// on the node's platform; empty, of a node that does not say what it is: on any.
Result<EnvironmentOrder> environment_order(store::Reader& reader, const Run& run,
                                           const std::string& platform);

// What a node says about its part; the one of rank 0 stands in the record. kInvalidArgument.
Status take_environment_report(store::Writer& writer, const Run& run, int rank, const json::object& report);

// {"reference", "key", "substitutions", "note", "build", "builder", "python", "lock_digest", "applied",
// "seconds",
//  "reused"}: for the run's record. The digest that a run is pinned to counts until its node has reported.
json::object to_json(const RunEnvironment& environment);

// What it was resolved to, as far as that is known, else what it asks for; empty for the machine's own
// programs.
Result<environments::Packages> packages_of_run(store::Reader& reader, const Run& run);

// How two runs' environments differ: null, or {"from": {...}, "to": {...}} with the packages that differ.
Result<json::value> environment_changes(store::Reader& reader, const Run& from, const Run& to);

}  // namespace slipway::runs

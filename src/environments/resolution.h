// From what a job names to the exact version of an environment, with the rules of the workspace applied.
#pragma once

#include <string>
#include <vector>

#include "environments/curated.h"
#include "environments/environment_store.h"
#include "store/database.h"

namespace slipway::environments {

struct Resolved {
  Environment environment;  // of `system`: nothing but the name
  bool curated = false;
  std::string note;                         // what stands in for a name of Azure's; may be empty
  std::vector<Substitution> substitutions;  // in force
  std::string key;                          // with them applied; empty: `system`
  std::string reference() const;            // "tf:3", "curated/pytorch:1", "system"
};

Environment from_curated(const CuratedEnvironment& curated);

// `text` as a job has it: NAME, NAME:VERSION, curated/NAME, a name of Azure's, or "system". kInvalidArgument
// for one that cannot be a name, kNotFound with where to look.
Result<Resolved> resolve_environment(store::Reader& reader, const WorkspaceName& workspace,
                                     const std::string& text, Deleted deleted = Deleted::kHidden);

// What the agent is told. `lock` may be empty.
EnvironmentOrder order_for(const Resolved& resolved, std::string lock);

// {"name", "version", "reference", "description", "tags", "definition", "key", "created_at", "created_by",
// "curated",
//  "note", "applied"}
json::object to_json(const Resolved& resolved);

}  // namespace slipway::environments

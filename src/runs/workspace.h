// Workspaces and the experiments in them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "store/database.h"

namespace slipway::runs {

constexpr std::string_view kDefaultWorkspace = "default";

struct Workspace {
  WorkspaceName name;
  std::string description;
  Timestamp created_at;
  int64_t runs = 0;
};

struct Experiment {
  ExperimentName name;
  Timestamp created_at;
  int64_t runs = 0;
  std::optional<Timestamp> last_run_at;
};

json::object to_json(const Workspace& workspace);
json::object to_json(const Experiment& experiment);

// By name, those behind `after`.
Result<std::vector<Workspace>> list_workspaces(store::Reader& reader, const std::string& after,
                                               int64_t limit);
Result<Workspace> load_workspace(store::Reader& reader, const WorkspaceName& name);  // kNotFound
Status insert_workspace(store::Writer& writer, const Workspace& workspace);  // kConflict when it is there
// kConflict for the default one and while there are runs in it.
Status delete_workspace(store::Writer& writer, const WorkspaceName& name);

Result<std::vector<Experiment>> list_experiments(store::Reader& reader, const WorkspaceName& workspace,
                                                 const std::string& after, int64_t limit);
Result<Experiment> load_experiment(store::Reader& reader, const WorkspaceName& workspace,
                                   const ExperimentName& name);

}  // namespace slipway::runs

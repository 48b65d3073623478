#include "runs/workspace.h"

#include <fmt/format.h>

namespace slipway::runs {
namespace {

constexpr std::string_view kSelectWorkspaces =
    "SELECT w.name, w.description, w.created_at, (SELECT COUNT(*) FROM runs r WHERE r.workspace = w.name "
    "AND r.kind = 'job') "
    "FROM workspaces w ";
constexpr std::string_view kSelectExperiments =
    "SELECT e.name, e.created_at, (SELECT COUNT(*) FROM runs r WHERE r.workspace = e.workspace AND "
    "r.experiment = e.name AND r.kind = 'job'), "
    "(SELECT MAX(r.submitted_at) FROM runs r WHERE r.workspace = e.workspace AND r.experiment = e.name) FROM "
    "experiments e ";

Result<std::vector<Workspace>> select_workspaces(store::Reader& reader, std::string_view rest,
                                                 const store::Values& values) {
  std::vector<Workspace> found;
  SLIPWAY_TRY(reader.query(fmt::format("{}{}", kSelectWorkspaces, rest), values, [&](const store::Row& row) {
    found.push_back({.name = row.id<WorkspaceName>(0),
                     .description = std::string(row.text(1)),
                     .created_at = row.time(2),
                     .runs = row.integer(3)});
  }));
  return found;
}

Result<std::vector<Experiment>> select_experiments(store::Reader& reader, std::string_view rest,
                                                   const store::Values& values) {
  std::vector<Experiment> found;
  SLIPWAY_TRY(reader.query(fmt::format("{}{}", kSelectExperiments, rest), values, [&](const store::Row& row) {
    Experiment experiment{.name = row.id<ExperimentName>(0),
                          .created_at = row.time(1),
                          .runs = row.integer(2),
                          .last_run_at = {}};
    if (!row.is_null(3)) experiment.last_run_at = row.time(3);
    found.push_back(std::move(experiment));
  }));
  return found;
}

// Models are worth a word of their own; with them go the runs that tried them.
Status refuse_leftovers(store::Reader& reader, const WorkspaceName& name) {
  const auto count = [&](std::string_view sql) -> Result<int64_t> {
    int64_t found = 0;
    SLIPWAY_TRY(reader.query(sql, {name}, [&](const store::Row& row) { found = row.integer(0); }));
    return found;
  };
  SLIPWAY_ASSIGN(const int64_t models, count("SELECT COUNT(*) FROM model_versions WHERE workspace = ?"));
  if (models > 0)
    return fail(ErrorCode::kConflict, fmt::format("workspace '{}' has {} versions of models", name, models),
                "delete them first: slipway model delete");
  SLIPWAY_ASSIGN(const int64_t runs, count("SELECT COUNT(*) FROM runs WHERE workspace = ?"));
  if (runs > 0)
    return fail(ErrorCode::kConflict,
                fmt::format("workspace '{}' has {} runs of models and services", name, runs),
                "slipway run list --kind all shows them; delete them first: slipway run delete");
  return {};
}

}  // namespace

json::object to_json(const Workspace& workspace) {
  return {{"name", workspace.name.str()},
          {"description", workspace.description},
          {"created_at", to_iso8601(workspace.created_at)},
          {"runs", workspace.runs}};
}

json::object to_json(const Experiment& experiment) {
  json::object object{{"name", experiment.name.str()},
                      {"created_at", to_iso8601(experiment.created_at)},
                      {"runs", experiment.runs}};
  object.emplace("last_run_at", experiment.last_run_at ? json::value(to_iso8601(*experiment.last_run_at))
                                                       : json::value(nullptr));
  return object;
}

Result<std::vector<Workspace>> list_workspaces(store::Reader& reader, const std::string& after,
                                               int64_t limit) {
  return select_workspaces(reader, "WHERE w.name > ? ORDER BY w.name LIMIT ?", {after, limit});
}

Result<Workspace> load_workspace(store::Reader& reader, const WorkspaceName& name) {
  SLIPWAY_ASSIGN(auto found, select_workspaces(reader, "WHERE w.name = ?", {name}));
  if (found.empty())
    return fail(ErrorCode::kNotFound, fmt::format("there is no workspace '{}'", name.str().substr(0, 64)),
                "slipway workspace list shows what there is");
  return std::move(found.front());
}

Status insert_workspace(store::Writer& writer, const Workspace& workspace) {
  const Status inserted =
      writer.run("INSERT INTO workspaces (name, description, created_at) VALUES (?, ?, ?)",
                 {workspace.name, workspace.description, workspace.created_at});
  if (!inserted && inserted.error().code == ErrorCode::kConflict)
    return fail(ErrorCode::kConflict, fmt::format("there is a workspace '{}' already", workspace.name),
                "choose another name");
  return inserted;
}

Status delete_workspace(store::Writer& writer, const WorkspaceName& name) {
  if (name.str() == kDefaultWorkspace)
    return fail(ErrorCode::kConflict, "the workspace 'default' always exists");
  SLIPWAY_ASSIGN(const Workspace workspace, load_workspace(writer, name));
  if (workspace.runs > 0)
    return fail(ErrorCode::kConflict, fmt::format("workspace '{}' has {} runs", name, workspace.runs),
                "delete them first: slipway run delete");
  SLIPWAY_TRY(refuse_leftovers(writer, name));
  for (const std::string_view statement :
       {"DELETE FROM experiments WHERE workspace = ?", "DELETE FROM tokens WHERE workspace = ?",
        "DELETE FROM snapshots WHERE workspace = ?", "DELETE FROM blob_refs WHERE workspace = ?",
        "DELETE FROM idempotency WHERE workspace = ?", "DELETE FROM datastores WHERE workspace = ?",
        "DELETE FROM default_datastores WHERE workspace = ?",
        "DELETE FROM datastore_files WHERE workspace = ?", "DELETE FROM dataset_versions WHERE workspace = ?",
        "DELETE FROM datasets WHERE workspace = ?", "DELETE FROM models WHERE workspace = ?",
        "DELETE FROM workspaces WHERE name = ?"})
    SLIPWAY_TRY(writer.run(statement, {name}));
  return {};
}

Result<std::vector<Experiment>> list_experiments(store::Reader& reader, const WorkspaceName& workspace,
                                                 const std::string& after, int64_t limit) {
  return select_experiments(reader, "WHERE e.workspace = ? AND e.name > ? ORDER BY e.name LIMIT ?",
                            {workspace, after, limit});
}

Result<Experiment> load_experiment(store::Reader& reader, const WorkspaceName& workspace,
                                   const ExperimentName& name) {
  SLIPWAY_ASSIGN(auto found,
                 select_experiments(reader, "WHERE e.workspace = ? AND e.name = ?", {workspace, name}));
  if (found.empty())
    return fail(ErrorCode::kNotFound, fmt::format("there is no experiment '{}'", name.str().substr(0, 64)),
                "slipway experiment list shows what there is");
  return std::move(found.front());
}

}  // namespace slipway::runs

#include "models/lineage.h"

#include <fmt/format.h>

#include "models/model_table.h"
#include "runs/run_table.h"

namespace slipway::models {
namespace {

constexpr int kMostShown = 100;
constexpr std::string_view kService = "service/";

Result<std::vector<std::string>> texts(store::Reader& reader, std::string_view sql,
                                       const store::Values& values) {
  std::vector<std::string> found;
  SLIPWAY_TRY(reader.query(sql, values, [&](const store::Row& row) { found.emplace_back(row.text(0)); }));
  return found;
}

Result<std::vector<std::string>> holders_of(store::Reader& reader, const ModelVersion& model) {
  return texts(reader,
               "SELECT holder FROM model_uses WHERE workspace = ? AND model = ? AND version = ? "
               "ORDER BY holder LIMIT ?",
               {model.workspace, model.name, model.version, kMostShown});
}

// "the service digits-svc"
std::string shown(const std::string& holder) {
  if (!holder.starts_with(kService)) return holder;
  return fmt::format("the service {}", holder.substr(kService.size()));
}

Result<std::vector<RunId>> runs_given(store::Reader& reader, const ModelVersion& model) {
  std::vector<RunId> runs;
  SLIPWAY_TRY(
      reader.query("SELECT u.run FROM run_models u JOIN runs r ON r.id = u.run WHERE u.workspace = ? "
                   "AND u.model = ? AND u.version = ? ORDER BY r.seq DESC",
                   {model.workspace, model.name, model.version},
                   [&](const store::Row& row) { runs.push_back(row.id<RunId>(0)); }));
  return runs;
}

}  // namespace

Status hold_model(store::Writer& writer, const WorkspaceName& workspace, const ModelReference& model,
                  const std::string& holder, Timestamp now) {
  SLIPWAY_ASSIGN(const ModelVersion found, load_model(writer, workspace, model));
  return writer.run(
      "INSERT INTO model_uses (workspace, model, version, holder, created_at) VALUES (?, ?, ?, "
      "?, ?) ON CONFLICT DO NOTHING",
      {workspace, found.name, found.version, holder, now});
}

Status release_model(store::Writer& writer, const WorkspaceName& workspace, const ModelReference& model,
                     const std::string& holder) {
  return writer.run("DELETE FROM model_uses WHERE workspace = ? AND model = ? AND version = ? AND holder = ?",
                    {workspace, model.name, model.version, holder});
}

Status release_models(store::Writer& writer, const WorkspaceName& workspace, const std::string& holder) {
  return writer.run("DELETE FROM model_uses WHERE workspace = ? AND holder = ?", {workspace, holder});
}

Status check_unused(store::Reader& reader, const ModelVersion& model) {
  const std::string name = to_text(reference_of(model));
  SLIPWAY_ASSIGN(const auto holders, holders_of(reader, model));
  if (!holders.empty())
    return fail(ErrorCode::kConflict,
                fmt::format("{} is used by {}{}", name, shown(holders.front()),
                            holders.size() > 1 ? fmt::format(" and {} more", holders.size() - 1) : ""),
                "update or delete the service first");
  SLIPWAY_ASSIGN(const auto given, runs_given(reader, model));
  for (const RunId& id : given) {
    SLIPWAY_ASSIGN(const runs::Run run, runs::load_run(reader, id));
    if (runs::is_final(run.state)) continue;
    return fail(
        ErrorCode::kConflict,
        fmt::format("{} is used by {}{}, which is {}", name,
                    run.kind == runs::RunKind::kTrial ? "its trial load " : "", run.id, to_text(run.state)),
        fmt::format("wait for it, or stop it: slipway run cancel {}", run.id));
  }
  return {};
}

Result<json::object> describe_uses(store::Reader& reader, const ModelVersion& model) {
  SLIPWAY_ASSIGN(const auto used_by,
                 texts(reader,
                       "SELECT u.run FROM run_models u JOIN runs r ON r.id = u.run WHERE u.workspace = ? AND "
                       "u.model = ? AND u.version = ? AND r.kind = 'job' ORDER BY r.seq DESC LIMIT ?",
                       {model.workspace, model.name, model.version, kMostShown}));
  SLIPWAY_ASSIGN(const auto holders, holders_of(reader, model));
  json::array services;
  for (const std::string& holder : holders)
    if (holder.starts_with(kService)) services.emplace_back(holder.substr(kService.size()));
  return json::object{{"used_by", slipway::to_json(used_by)}, {"services", std::move(services)}};
}

Result<json::object> models_of_run(store::Reader& reader, const RunId& run) {
  json::object answer;
  const auto add = [&](std::string_view field, std::string_view sql) -> Status {
    json::array items;
    SLIPWAY_TRY(reader.query(sql, {run, kMostShown}, [&](const store::Row& row) {
      items.emplace_back(fmt::format("{}:{}", row.text(0), row.integer(1)));
    }));
    answer[field] = std::move(items);
    return {};
  };
  SLIPWAY_TRY(
      add("registered", "SELECT name, version FROM model_versions WHERE run = ? ORDER BY seq LIMIT ?"));
  SLIPWAY_TRY(
      add("used", "SELECT model, version FROM run_models WHERE run = ? ORDER BY model, version LIMIT ?"));
  return answer;
}

Result<json::array> models_of_dataset(store::Reader& reader, const WorkspaceName& workspace,
                                      const std::string& dataset, int version) {
  json::array items;
  SLIPWAY_TRY(reader.query(
      "SELECT DISTINCT m.name, m.version, m.seq FROM model_datasets d JOIN model_versions m ON m.seq = "
      "d.model_seq WHERE d.workspace = ? AND d.dataset = ? AND d.version = ? ORDER BY m.seq DESC LIMIT ?",
      {workspace, dataset, version, kMostShown},
      [&](const store::Row& row) { items.emplace_back(fmt::format("{}:{}", row.text(0), row.integer(1))); }));
  return items;
}

}  // namespace slipway::models

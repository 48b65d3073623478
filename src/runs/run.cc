#include "runs/run.h"

namespace slipway::runs {
namespace {

json::value time_or_null(const std::optional<Timestamp>& time) {
  if (!time) return nullptr;
  return json::string(to_iso8601(*time));
}

json::value id_or_null(const std::optional<RunId>& id) {
  if (!id) return nullptr;
  return json::string(id->str());
}

// Whose fault a failure was, in the words that clients of older services know: a script that ended badly is
// its user's.
std::string_view error_code_of(const Run& run) {
  if (!run.error_code.empty()) return run.error_code;
  const bool by_user = run.type == RunType::kInteractive || run.exit_code.has_value();
  return by_user ? "UserError" : "ServiceError";
}

json::value error_of(const Run& run) {
  if (run.state != RunState::kFailed) return nullptr;
  return json::object{{"code", error_code_of(run)}, {"message", run.reason}};
}

json::value duration_of(const Run& run, Timestamp now) {
  if (!run.started_at) return nullptr;
  const Timestamp end = run.ended_at.value_or(now);
  return static_cast<double>(end.micros - run.started_at->micros) / 1e6;
}

}  // namespace

std::string_view to_text(RunType type) {
  return type == RunType::kJob ? "job" : "interactive";
}

std::optional<RunType> run_type_from_text(std::string_view text) {
  for (const RunType type : {RunType::kJob, RunType::kInteractive})
    if (to_text(type) == text) return type;
  return std::nullopt;
}

std::string_view to_text(RunKind kind) {
  switch (kind) {
    case RunKind::kTrial: return "trial";
    case RunKind::kReplica: return "replica";
    case RunKind::kJob: break;
  }
  return "job";
}

std::optional<RunKind> run_kind_from_text(std::string_view text) {
  for (const RunKind kind : {RunKind::kJob, RunKind::kTrial, RunKind::kReplica})
    if (to_text(kind) == text) return kind;
  return std::nullopt;
}

json::object to_json(const Run& run, Timestamp now, const std::string& waiting_because,
                     const std::vector<NodeId>& nodes) {
  json::array node_names;
  for (const NodeId& node : nodes) node_names.emplace_back(node.str());
  return {
      {"id", run.id.str()},
      {"workspace", run.workspace.str()},
      {"experiment", run.job.experiment.str()},
      {"type", to_text(run.type)},
      {"kind", to_text(run.kind)},
      {"display_name", run.display_name},
      {"description", run.description},
      {"state", to_text(run.state)},
      {"phase", phase_of(run.state)},
      {"attempt", run.attempt},
      {"preemptions", run.preemptions},
      {"gives_way_to", id_or_null(run.gives_way_to)},
      {"job", to_json(run.job)},
      {"submitted_at", to_iso8601(run.submitted_at)},
      {"started_at", time_or_null(run.started_at)},
      {"ended_at", time_or_null(run.ended_at)},
      {"duration_seconds", duration_of(run, now)},
      {"exit_code", run.exit_code ? json::value(*run.exit_code) : json::value(nullptr)},
      {"reason", run.reason},
      {"error", error_of(run)},
      {"waiting_because", waiting_because},
      {"nodes", std::move(node_names)},
      {"tags", to_json(run.tags)},
      {"properties", to_json(run.properties)},
      {"submitted_by", run.submitted_by},
      {"rerun_of", id_or_null(run.rerun_of)},
      {"parent", id_or_null(run.parent)},
      {"root", run.root.value_or(run.id).str()},
      {"warnings", to_json(run.warnings)},
      {"skipped", to_json(run.skipped)},
  };
}

json::object to_json(const RunEvent& event) {
  return {
      {"seq", event.seq},         {"time", to_iso8601(event.time)},
      {"kind", event.kind},       {"state", to_text(event.state)},
      {"attempt", event.attempt}, {"reason", event.reason},
  };
}

}  // namespace slipway::runs

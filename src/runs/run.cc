#include "runs/run.h"

namespace slipway::runs {
namespace {

json::value time_or_null(const std::optional<Timestamp>& time) {
  if (!time) return nullptr;
  return json::string(to_iso8601(*time));
}

json::value duration_of(const Run& run, Timestamp now) {
  if (!run.started_at) return nullptr;
  const Timestamp end = run.ended_at.value_or(now);
  return static_cast<double>(end.micros - run.started_at->micros) / 1e6;
}

}  // namespace

json::object to_json(const Run& run, Timestamp now, const std::string& waiting_because,
                     const std::vector<NodeId>& nodes) {
  json::array node_names;
  for (const NodeId& node : nodes) node_names.emplace_back(node.str());
  return {
      {"id", run.id.str()},
      {"workspace", run.workspace.str()},
      {"experiment", run.job.experiment.str()},
      {"display_name", run.display_name},
      {"state", to_text(run.state)},
      {"phase", phase_of(run.state)},
      {"attempt", run.attempt},
      {"job", to_json(run.job)},
      {"submitted_at", to_iso8601(run.submitted_at)},
      {"started_at", time_or_null(run.started_at)},
      {"ended_at", time_or_null(run.ended_at)},
      {"duration_seconds", duration_of(run, now)},
      {"exit_code", run.exit_code ? json::value(*run.exit_code) : json::value(nullptr)},
      {"reason", run.reason},
      {"waiting_because", waiting_because},
      {"nodes", std::move(node_names)},
      {"tags", to_json(run.tags)},
      {"submitted_by", run.submitted_by},
      {"parent", run.parent ? json::value(run.parent->str()) : json::value(nullptr)},
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

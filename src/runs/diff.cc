#include "runs/diff.h"

#include "metrics/metric_store.h"

namespace slipway::runs {
namespace {

json::value section(const json::value& from, const json::value& to) {
  if (from == to) return nullptr;
  return json::object{{"from", from}, {"to", to}};
}

json::object result_of(const DiffSide& side) {
  json::object last;
  for (const auto& [name, value] : side.last_metrics) last.emplace(name, metrics::value_to_json(value));
  return {{"state", to_text(side.run.state)},
          {"exit_code", side.run.exit_code ? json::value(*side.run.exit_code) : json::value(nullptr)},
          {"metrics", std::move(last)}};
}

json::value git_of(const Run& run) {
  return to_json(run.job).at("git");
}

json::object compute_of(const Run& run) {
  return {{"cluster", run.job.compute.str()},
          {"nodes", run.job.nodes},
          {"resources", to_json(run.job.resources)}};
}

}  // namespace

json::object diff_runs(const DiffSide& from, const DiffSide& to, json::value environment) {
  json::array code;
  for (const snapshot::FileChange& change : snapshot::diff(from.source, to.source))
    code.push_back(json::object{{"path", change.path}, {"change", snapshot::to_text(change.change)}});
  const Job& before = from.run.job;
  const Job& after = to.run.job;
  return {
      {"from", from.run.id.str()},
      {"to", to.run.id.str()},
      {"code", std::move(code)},
      {"command", section(to_json(before.command), to_json(after.command))},
      {"environment", std::move(environment)},
      {"variables", section(to_json(before.variables), to_json(after.variables))},
      {"compute", section(compute_of(from.run), compute_of(to.run))},
      {"data", section(to_json(before.inputs), to_json(after.inputs))},
      {"git", section(git_of(from.run), git_of(to.run))},
      {"result", section(result_of(from), result_of(to))},
  };
}

}  // namespace slipway::runs

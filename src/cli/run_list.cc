#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/answer.h"
#include "cli/quantities.h"
#include "cli/run_view.h"
#include "cli/runs.h"
#include "cli/session.h"
#include "cli/tags.h"

namespace slipway::cli {
namespace {

struct ListOptions {
  std::string experiment;
  std::string state;
  std::string tag;
  std::string kind;
  int limit = 20;
  bool all = false;
};

// The state as the server spells it, whatever the case it was typed in.
Result<std::string> known_state(const std::string& typed) {
  const auto lower = [](std::string text) {
    for (char& c : text)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
  };
  for (const std::string& state : run_states())
    if (lower(state) == lower(typed)) return state;
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a state of a run", printable(typed, 64)),
              fmt::format("use one of: {}", fmt::join(run_states(), ", ")));
}

Result<int> list_runs(Context& context, const ListOptions& options) {
  Query query;
  if (!options.experiment.empty()) {
    SLIPWAY_TRY(check_name(options.experiment, "experiment"));
    query["experiment"] = options.experiment;
  }
  if (!options.state.empty()) {
    SLIPWAY_ASSIGN(query["state"], known_state(options.state));
  }
  SLIPWAY_TRY(narrow_by_tag(options.tag, query));
  if (!options.kind.empty()) query["kind"] = options.kind;
  if (options.limit < 1) return fail(ErrorCode::kInvalidArgument, "--limit must be at least 1");
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  // One more than is shown tells whether there are more.
  const size_t limit = options.all ? 0 : static_cast<size_t>(options.limit);
  SLIPWAY_ASSIGN(json::array runs,
                 session.list(session.in_workspace("/runs"), query, limit == 0 ? 0 : limit + 1));
  const bool more = limit != 0 && runs.size() > limit;
  if (more) runs.resize(limit);
  Console& console = context.console;
  if (console.json()) {
    console.print_json(json::object{{"items", std::move(runs)}});
    return 0;
  }
  if (runs.empty()) {
    console.hint(query.empty() ? "no runs yet; submit one: slipway submit -- python train.py"
                               : "no run matches");
    return 0;
  }
  console.out(runs_table(runs, context.clock.now()).render(console.width(), console.colour_out()));
  if (more) console.hint(fmt::format("the newest {} are shown; --limit N or --all shows more", limit));
  return 0;
}

}  // namespace

void add_run_list(Command run, Context& context) {
  const auto options = std::make_shared<ListOptions>();
  Command list =
      run.command("list", "List runs, newest first", "slipway run list --experiment digits --state Running");
  list.example("slipway run list --tag owner=me --json");
  list.option("--experiment,-e", options->experiment, "NAME", "only runs of this experiment",
              Completes::kExperiment);
  list.option("--state,-s", options->state, "STATE", "only runs in this state", Completes::kState);
  list.option("--tag,-t", options->tag, "NAME=VALUE", "only runs with this tag");
  list.choice("--kind", options->kind, {"job", "trial", "replica", "all"},
              "trials of models and replicas of services instead of users' jobs");
  list.option("--limit,-n", options->limit, "N", "how many at most (20)");
  list.flag("--all,-a", options->all, "all of them");
  list.action([options, &context] { return list_runs(context, *options); });
  // `slipway run` alone lists too.
  run.action([&context] { return list_runs(context, ListOptions{}); });
}

}  // namespace slipway::cli

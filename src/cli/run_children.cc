#include <fmt/format.h>

#include <memory>

#include "cli/run_view.h"
#include "cli/runs.h"
#include "cli/session.h"
#include "cli/tags.h"

namespace slipway::cli {
namespace {

struct ChildrenOptions {
  std::string run;
  bool recursive = false;
  std::string state;
  std::string type;
  std::string tag;
};

Result<int> list_children(Context& context, const ChildrenOptions& options) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object run, session.find_run(options.run));
  Query query;
  if (options.recursive) query["recursive"] = "true";
  if (!options.state.empty()) query["state"] = options.state;
  if (!options.type.empty()) query["type"] = options.type;
  SLIPWAY_TRY(narrow_by_tag(options.tag, query));
  SLIPWAY_ASSIGN(json::array children, session.list(session.run_path(run) + "/children", query, 0));
  Console& console = context.console;
  if (console.json()) {
    console.print_json(json::object{{"items", std::move(children)}});
  } else if (children.empty()) {
    console.hint(query.empty() ? "the run has no children" : "no child matches");
  } else {
    console.out(runs_table(children, context.clock.now()).render(console.width(), console.colour_out()));
  }
  return 0;
}

}  // namespace

void add_run_children(Command run, Context& context) {
  const auto options = std::make_shared<ChildrenOptions>();
  Command children = run.command("children", "List the children of a run, newest first",
                                 "slipway run children latest --recursive");
  children.positional("RUN", options->run, "the run", Completes::kRun);
  children.flag("--recursive,-r", options->recursive, "also their children, and so on");
  children.option("--state,-s", options->state, "STATE", "only those in this state", Completes::kState);
  children.option("--type", options->type, "TYPE", "only those of this type: job or interactive");
  children.option("--tag,-t", options->tag, "NAME=VALUE", "only those with this tag");
  children.action([options, &context] { return list_children(context, *options); });
}

}  // namespace slipway::cli

#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/quantities.h"
#include "cli/run_view.h"
#include "cli/session.h"
#include "cli/table.h"
#include "http/router.h"

namespace slipway::cli {
namespace {

std::string when(const json::object& object, std::string_view name, Timestamp now) {
  const auto time = time_at(object, name);
  return time ? relative_time(*time, now) : "-";
}

Result<int> list_workspaces(Context& context) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array workspaces, session.list("/api/v1/workspaces", {}, 0));
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(workspaces)}});
    return 0;
  }
  Table table({{""}, {"WORKSPACE"}, {"RUNS", Align::kRight}, {"CREATED"}, {"DESCRIPTION", Align::kLeft, 12}});
  for (const json::value& item : workspaces) {
    const json::object& workspace = item.as_object();
    const std::string name = text_at(workspace, "name");
    table.add({name == session.workspace() ? "*" : "", name, std::to_string(integer_at(workspace, "runs")),
               when(workspace, "created_at", context.clock.now()), text_at(workspace, "description")});
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
  return 0;
}

void print_workspace(Context& context, const json::object& workspace) {
  if (context.console.json()) {
    context.console.print_json(workspace);
    return;
  }
  Facts facts;
  facts.add("workspace", text_at(workspace, "name"), Colour::kBold);
  if (!text_at(workspace, "description").empty()) facts.add("description", text_at(workspace, "description"));
  facts.add("runs", std::to_string(integer_at(workspace, "runs")));
  facts.add("created", when(workspace, "created_at", context.clock.now()));
  context.console.out(facts.render(context.console.colour_out()));
}

Result<int> create_workspace(Context& context, const std::string& name, const std::string& description) {
  SLIPWAY_TRY(check_name(name, "workspace"));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object workspace,
                 session.create("/api/v1/workspaces", {{"name", name}, {"description", description}}));
  print_workspace(context, workspace);
  context.console.hint(fmt::format("use it: --workspace {0}, or export SLIPWAY_WORKSPACE={0}", name));
  return 0;
}

std::string workspace_path(const std::string& name) {
  return "/api/v1/workspaces/" + http::percent_encode(name);
}

Result<int> show_workspace(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  const std::string& wanted = name.empty() ? session.workspace() : name;
  SLIPWAY_TRY(check_name(wanted, "workspace"));
  SLIPWAY_ASSIGN(const json::object workspace, session.get(workspace_path(wanted)));
  print_workspace(context, workspace);
  return 0;
}

Result<int> delete_workspace(Context& context, const std::string& name) {
  SLIPWAY_TRY(check_name(name, "workspace"));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_TRY(session.remove(workspace_path(name)));
  if (context.console.json()) context.console.print_json(json::object{{"name", name}});
  context.console.hint(fmt::format("workspace '{}' deleted", name));
  return 0;
}

Result<int> list_experiments(Context& context) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array experiments, session.list(session.in_workspace("/experiments"), {}, 0));
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(experiments)}});
    return 0;
  }
  if (experiments.empty()) {
    context.console.hint(
        "no experiments yet; the first run makes one: slipway submit --experiment digits -- python train.py");
    return 0;
  }
  Table table({{"EXPERIMENT"}, {"RUNS", Align::kRight}, {"LAST RUN"}, {"CREATED"}});
  for (const json::value& item : experiments) {
    const json::object& experiment = item.as_object();
    table.add({text_at(experiment, "name"), std::to_string(integer_at(experiment, "runs")),
               when(experiment, "last_run_at", context.clock.now()),
               when(experiment, "created_at", context.clock.now())});
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
  return 0;
}

Result<int> show_experiment(Context& context, const std::string& name) {
  SLIPWAY_TRY(check_name(name, "experiment"));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object experiment,
                 session.get(session.in_workspace("/experiments/" + http::percent_encode(name))));
  if (context.console.json()) {
    context.console.print_json(experiment);
    return 0;
  }
  Facts facts;
  facts.add("experiment", text_at(experiment, "name"), Colour::kBold);
  facts.add("runs", std::to_string(integer_at(experiment, "runs")));
  facts.add("created", when(experiment, "created_at", context.clock.now()));
  context.console.out(facts.render(context.console.colour_out()));
  SLIPWAY_ASSIGN(const json::array runs,
                 session.list(session.in_workspace("/runs"), {{"experiment", name}}, 10));
  if (runs.empty()) return 0;
  context.console.out(
      "\n" +
      runs_table(runs, context.clock.now()).render(context.console.width(), context.console.colour_out()));
  return 0;
}

}  // namespace

void add_workspace_commands(Command root, Context& context) {
  Command workspace =
      root.command("workspace", "The places that hold runs, experiments and clusters", "slipway workspace");
  workspace.action([&context] { return list_workspaces(context); });
  workspace.command("list", "List the workspaces; * marks the one in use", "slipway workspace list")
      .action([&context] { return list_workspaces(context); });
  struct Options {
    std::string name;
    std::string description;
  };
  const auto made = std::make_shared<Options>();
  Command create = workspace.command("create", "Create a workspace",
                                     "slipway workspace create vision --description 'Image models'");
  create.positional("NAME", made->name, "its name");
  create.option("--description", made->description, "TEXT", "what it is for");
  create.action([made, &context] { return create_workspace(context, made->name, made->description); });

  const auto shown = std::make_shared<std::string>();
  Command show = workspace.command("show", "Show a workspace", "slipway workspace show vision");
  show.positional("NAME", *shown, "its name (the one in use)", Completes::kWorkspace, false);
  show.action([shown, &context] { return show_workspace(context, *shown); });

  const auto deleted = std::make_shared<std::string>();
  Command remove =
      workspace.command("delete", "Delete an empty workspace", "slipway workspace delete vision");
  remove.positional("NAME", *deleted, "its name", Completes::kWorkspace);
  remove.action([deleted, &context] { return delete_workspace(context, *deleted); });
}

void add_experiment_commands(Command root, Context& context) {
  Command experiment =
      root.command("experiment", "Groups of runs; a run names its experiment", "slipway experiment");
  experiment.action([&context] { return list_experiments(context); });
  experiment.command("list", "List the experiments", "slipway experiment list").action([&context] {
    return list_experiments(context);
  });
  const auto shown = std::make_shared<std::string>();
  Command show =
      experiment.command("show", "Show an experiment and its newest runs", "slipway experiment show digits");
  show.positional("NAME", *shown, "its name", Completes::kExperiment);
  show.action([shown, &context] { return show_experiment(context, *shown); });
}

}  // namespace slipway::cli

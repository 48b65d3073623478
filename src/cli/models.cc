#include "cli/models.h"

#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/tags.h"
#include "http/router.h"

namespace slipway::cli {
namespace {

struct ListOptions {
  std::string name;
  std::string framework;
  std::string tag;
  std::string run;
  std::string dataset;
  bool all = false;
};

Result<int> list_models(Context& context, const ListOptions& options) {
  Query query;
  if (!options.all) query["latest"] = "true";
  if (!options.name.empty()) query["name"] = options.name;
  if (!options.framework.empty()) query["framework"] = options.framework;
  if (!options.dataset.empty()) query["dataset"] = options.dataset;
  SLIPWAY_TRY(narrow_by_tag(options.tag, query));
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  if (!options.run.empty()) {
    SLIPWAY_ASSIGN(const json::object run, session.find_run(options.run));
    query["run"] = text_at(run, "id");
  }
  SLIPWAY_ASSIGN(json::array models, session.list(session.in_workspace("/models"), query, 0));
  if (models.empty() && !context.console.json()) {
    context.console.hint(query.size() > 1
                             ? "no model matches"
                             : "there are no models yet; register what a run has kept:\n"
                               "  slipway model register NAME --run latest --path outputs/model");
    return 0;
  }
  print_models(context, std::move(models));
  return 0;
}

Result<int> show_model(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object model, session.get(model_path(session, name)));
  print_model(context, model);
  return 0;
}

Result<int> list_versions(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array versions, session.list(model_path(session, name) + "/versions", {}, 0));
  print_models(context, std::move(versions));
  return 0;
}

}  // namespace

std::string model_path(const Session& session, const std::string& model) {
  return session.in_workspace("/models/" + http::percent_encode(model));
}

void add_model_commands(Command root, Context& context) {
  Command model = root.command(
      "model", "Registered models: versions, where they came from, whether they serve", "slipway model");
  model.action([&context] { return list_models(context, {}); });
  add_model_register(model, context);

  const auto options = std::make_shared<ListOptions>();
  Command list = model.command("list", "List the models with their newest versions",
                               "slipway model list --framework onnx");
  list.example("slipway model list --tag stage=production --all");
  list.option("--name", options->name, "NAME", "only this model", Completes::kModel);
  list.option("--framework,-f", options->framework, "NAME", "only those of this framework");
  list.option("--tag,-t", options->tag, "NAME=VALUE", "only those with this tag");
  list.option("--run,-r", options->run, "RUN", "only those registered from this run", Completes::kRun);
  list.option("--dataset", options->dataset, "NAME[:VERSION]", "only those made from this dataset",
              Completes::kDataset);
  list.flag("--all,-a", options->all, "every version, not the newest alone");
  list.action([options, &context] { return list_models(context, *options); });

  const auto add_named = [&](const char* name, const char* about, const char* example,
                             Result<int> (*act)(Context&, const std::string&)) {
    const auto named = std::make_shared<std::string>();
    Command command = model.command(name, about, example);
    command.positional("NAME[:VERSION]", *named, "the model; without a version the newest",
                       Completes::kModel);
    command.action([named, act, &context] { return act(context, *named); });
  };
  add_named("show", "Show a version: what it is, where it came from, whether it serves, who uses it",
            "slipway model show digits:3", show_model);
  add_named("versions", "List the versions of a model, newest first", "slipway model versions digits",
            list_versions);
  add_model_files(model, context);
  add_model_change(model, context);
}

}  // namespace slipway::cli

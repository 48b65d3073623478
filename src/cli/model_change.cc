#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/models.h"
#include "cli/tags.h"

namespace slipway::cli {
namespace {

struct ChangeOptions {
  std::string model;
  ModelFacts facts;
  std::vector<std::string> tags;
  std::vector<std::string> remove;
};

Result<int> change_model(Context& context, const ChangeOptions& options) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::object body, facts_body(context, session, options.facts));
  json::object tags = object_at(body, "tags");
  SLIPWAY_ASSIGN(const json::object changes, tag_changes(options.tags, options.remove));
  for (const auto& [name, value] : changes) tags[name] = value;
  if (!tags.empty()) body["tags"] = std::move(tags);
  if (body.empty())
    return fail(ErrorCode::kInvalidArgument, "nothing to change was given",
                "for example: slipway model tag digits:3 stage=production");
  const std::string path = model_path(session, options.model);
  if (body.contains("resources")) {
    // What is not named stays as it is.
    SLIPWAY_ASSIGN(const json::object now, session.get(path));
    json::object resources = object_at(now, "resources");
    for (const auto& [key, value] : object_at(body, "resources")) resources[key] = value;
    body["resources"] = std::move(resources);
  }
  SLIPWAY_ASSIGN(const json::object model, session.change(http::Method::kPatch, path, body));
  print_model(context, model);
  return 0;
}

Result<int> delete_model(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_TRY(session.remove(model_path(session, name)));
  if (context.console.json()) context.console.print_json(json::object{{"model", name}});
  context.console.hint(
      fmt::format("model '{}' deleted{}", name, name.contains(':') ? "" : " with all its versions"));
  return 0;
}

}  // namespace

void add_model_change(Command model, Context& context) {
  const auto changed = std::make_shared<ChangeOptions>();
  Command update = model.command("update", "Change what is said about a version; its files never change",
                                 "slipway model update digits:3 --description 'on all of MNIST' --memory 1");
  update.positional("NAME[:VERSION]", changed->model, "the model; without a version the newest",
                    Completes::kModel);
  add_model_facts(update, changed->facts);
  update.option("--remove-tag", changed->remove, "NAME", "a tag to remove; may be repeated");
  update.action([changed, &context] { return change_model(context, *changed); });

  const auto tagged = std::make_shared<ChangeOptions>();
  Command tag =
      model.command("tag", "Set and remove tags of a version", "slipway model tag digits:3 stage=production");
  tag.example("slipway model tag digits:2 --remove stage");
  tag.positional("NAME[:VERSION]", tagged->model, "the model; without a version the newest",
                 Completes::kModel);
  tag.positionals("TAG=VALUE", tagged->tags, "tags to set", Completes::kNothing, false);
  tag.option("--remove", tagged->remove, "TAG", "a tag to remove; may be repeated");
  tag.action([tagged, &context] { return change_model(context, *tagged); });

  const auto doomed = std::make_shared<std::string>();
  Command remove = model.command("delete", "Delete a version, or a model with all of them",
                                 "slipway model delete digits:1");
  remove.positional("NAME[:VERSION]", *doomed, "the version; without one the whole model", Completes::kModel);
  remove.action([doomed, &context] { return delete_model(context, *doomed); });
}

}  // namespace slipway::cli

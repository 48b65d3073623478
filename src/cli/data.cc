#include "cli/data.h"

#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/data_transfer.h"
#include "cli/quantities.h"
#include "cli/table.h"
#include "cli/tags.h"
#include "http/router.h"

namespace slipway::cli {
namespace {

constexpr size_t kPathsShown = 20;

std::string name_text(const json::object& dataset) {
  return fmt::format("{}:{}", text_at(dataset, "name"), integer_at(dataset, "version"));
}

std::string size_text(const json::object& dataset) {
  return bytes_text(static_cast<uint64_t>(integer_at(dataset, "bytes")));
}

std::string kind_text(const json::object& definition) {
  if (text_at(definition, "kind") != "table") return "files";
  return "table of " + text_at(object_at(definition, "table"), "format") + " files";
}

std::string operations_text(const json::object& definition) {
  std::string text;
  for (const json::value& item : array_at(definition, "operations")) {
    if (!item.is_object()) continue;
    json::object rest = item.get_object();
    const std::string op = text_at(rest, "op");
    rest.erase("op");
    text += fmt::format("{}{} {}", text.empty() ? "" : "\n", op, value_text(rest));
  }
  return text;
}

std::string lines_of(const std::vector<std::string>& lines) {
  std::string text;
  for (size_t i = 0; i < std::min(lines.size(), kPathsShown); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : "\n", lines[i]);
  if (lines.size() > kPathsShown) text += fmt::format("\nand {} more", lines.size() - kPathsShown);
  return text;
}

std::string tags_text(const json::object& tags) {
  std::string text;
  for (const auto& tag : tags)
    text += fmt::format("{}{}={}", text.empty() ? "" : "\n", std::string_view(tag.key()),
                        value_text(tag.value()));
  return text;
}

void print_list(Context& context, json::array datasets) {
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(datasets)}});
    return;
  }
  const Timestamp now = context.clock.now();
  Table table({{"DATASET"},
               {"FILES", Align::kRight},
               {"SIZE", Align::kRight},
               {"CREATED"},
               {"FROM RUN"},
               {"DESCRIPTION", Align::kLeft, 12}});
  for (const json::value& item : datasets) {
    const json::object& dataset = item.as_object();
    const auto created = time_at(dataset, "created_at");
    table.add({name_text(dataset), std::to_string(integer_at(dataset, "files")), size_text(dataset),
               created ? relative_time(*created, now) : "-",
               text_at(object_at(dataset, "produced_by"), "run"), text_at(dataset, "description")});
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
}

Result<int> list_datasets(Context& context) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array datasets, session.list(session.in_workspace("/data"), {}, 0));
  if (datasets.empty() && !context.console.json()) {
    context.console.hint("there are no datasets yet; make one: slipway data create NAME PATH...");
    return 0;
  }
  print_list(context, std::move(datasets));
  return 0;
}

Result<int> list_versions(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array versions, session.list(data_path(session, name) + "/versions", {}, 0));
  print_list(context, std::move(versions));
  return 0;
}

Result<int> show_dataset(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object dataset, session.get(data_path(session, name)));
  print_dataset(context, dataset);
  return 0;
}

Result<int> delete_dataset(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_TRY(session.remove(data_path(session, name)));
  if (context.console.json()) context.console.print_json(json::object{{"dataset", name}});
  context.console.hint(fmt::format("dataset '{}' deleted{}; files in datastores stay where they are", name,
                                   name.contains(':') ? "" : " with all its versions"));
  return 0;
}

struct TagOptions {
  std::string dataset;
  std::vector<std::string> tags;
  std::vector<std::string> remove;
  std::optional<std::string> description;
};

Result<int> tag_dataset(Context& context, const TagOptions& options) {
  SLIPWAY_ASSIGN(json::object tags, tag_changes(options.tags, options.remove));
  json::object body;
  if (!tags.empty()) body["tags"] = std::move(tags);
  if (options.description) body["description"] = *options.description;
  if (body.empty())
    return fail(ErrorCode::kInvalidArgument, "nothing to change was given",
                "for example: slipway data tag mnist split=train");
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object dataset,
                 session.change(http::Method::kPatch, data_path(session, options.dataset), body));
  print_dataset(context, dataset);
  return 0;
}

}  // namespace

std::string data_path(const Session& session, const std::string& dataset) {
  return session.in_workspace("/data/" + http::percent_encode(dataset));
}

void print_dataset(Context& context, const json::object& dataset) {
  if (context.console.json()) {
    context.console.print_json(dataset);
    return;
  }
  const json::object& definition = object_at(dataset, "definition");
  Facts facts;
  facts.add("dataset", name_text(dataset), Colour::kBold);
  if (!text_at(dataset, "description").empty()) facts.add("description", text_at(dataset, "description"));
  facts.add("kind", kind_text(definition));
  facts.add("has", fmt::format("{}, {}", count_of(integer_at(dataset, "files"), "file"), size_text(dataset)));
  facts.add("paths", lines_of(texts_at(definition, "paths")));
  if (!text_at(definition, "from").empty()) facts.add("made from", text_at(definition, "from"));
  if (const std::string operations = operations_text(definition); !operations.empty())
    facts.add("operations", operations);
  if (const json::object& table = object_at(definition, "table"); !table.empty())
    facts.add("table", value_text(table));
  if (const std::string tags = tags_text(object_at(dataset, "tags")); !tags.empty()) facts.add("tags", tags);
  const auto created = time_at(dataset, "created_at");
  facts.add("created",
            fmt::format("{} by {}", created ? relative_time(*created, context.clock.now()) : "-",
                        text_at(dataset, "created_by").empty() ? "-" : text_at(dataset, "created_by")));
  if (const json::object& run = object_at(dataset, "produced_by"); !run.empty())
    facts.add("produced by", fmt::format("{} (output {})", text_at(run, "run"), text_at(run, "output")));
  std::vector<std::string> uses;
  for (const json::value& item : array_at(dataset, "used_by"))
    if (item.is_object())
      uses.push_back(fmt::format("{} (input {})", text_at(item.get_object(), "run"),
                                 text_at(item.get_object(), "input")));
  if (!uses.empty()) facts.add("used by", lines_of(uses));
  if (const auto models = texts_at(dataset, "models"); !models.empty()) facts.add("models", lines_of(models));
  facts.add("manifest", text_at(dataset, "manifest").substr(0, 16));
  context.console.out(facts.render(context.console.colour_out()));
}

void add_data_commands(Command root, Context& context) {
  Command data =
      root.command("data", "Versioned datasets: define once, name a version in every run", "slipway data");
  data.action([&context] { return list_datasets(context); });
  add_data_create(data, context);
  data.command("list", "List the datasets with their newest versions", "slipway data list")
      .action([&context] { return list_datasets(context); });
  const auto add_named = [&](const char* name, const char* about, const char* example,
                             Result<int> (*act)(Context&, const std::string&)) {
    const auto dataset = std::make_shared<std::string>();
    Command command = data.command(name, about, example);
    command.positional("NAME[:VERSION]", *dataset, "the dataset; without a version the newest",
                       Completes::kDataset);
    command.action([dataset, act, &context] { return act(context, *dataset); });
  };
  add_named("show", "Show a dataset: where it comes from, what it has, who uses it",
            "slipway data show mnist", show_dataset);
  add_named("versions", "List the versions of a dataset, newest first", "slipway data versions mnist",
            list_versions);
  add_data_preview(data, context);
  add_data_download(data, context);
  add_data_mount(data, context);

  const auto tags = std::make_shared<TagOptions>();
  Command tag =
      data.command("tag", "Set tags and the description of a version", "slipway data tag mnist split=train");
  tag.example("slipway data tag mnist:2 --remove draft --description 'the cleaned pictures'");
  tag.positional("NAME[:VERSION]", tags->dataset, "the dataset; without a version the newest",
                 Completes::kDataset);
  tag.positionals("TAG=VALUE", tags->tags, "tags to set", Completes::kNothing, false);
  tag.option("--remove", tags->remove, "TAG", "a tag to remove; may be repeated");
  tag.option("--description", tags->description, "TEXT", "what it is");
  tag.action([tags, &context] { return tag_dataset(context, *tags); });

  add_named("delete", "Delete a version, or a dataset with all of them", "slipway data delete mnist:1",
            delete_dataset);
}

}  // namespace slipway::cli

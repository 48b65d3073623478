#include "cli/environments.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ranges>

#include "cli/answer.h"
#include "cli/quantities.h"
#include "cli/table.h"
#include "http/router.h"

namespace slipway::cli {
namespace {

std::string lines_text(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string made_of(const json::object& definition) {
  const json::object& container = object_at(definition, "container");
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (flag_at(container, "enabled"))
    add(text_at(container, "dockerfile").empty() ? text_at(container, "image") : "a Dockerfile");
  if (flag_at(definition, "user_managed")) add("interpreter " + text_at(definition, "interpreter"));
  if (!text_at(definition, "python").empty()) add("python " + text_at(definition, "python"));
  const auto packages =
      static_cast<int64_t>(array_at(definition, "pip").size() + array_at(definition, "conda").size());
  if (packages > 0) add(count_of(packages, "package"));
  return text.empty() ? "python" : text;
}

Table environment_table(const json::array& environments, Timestamp now) {
  Table table(
      {{"ENVIRONMENT"}, {"MADE OF", Align::kLeft, 16}, {"CREATED"}, {"DESCRIPTION", Align::kLeft, 12}});
  for (const json::value& item : environments) {
    const json::object& environment = item.as_object();
    const auto created = time_at(environment, "created_at");
    table.add({text_at(environment, "reference"), made_of(object_at(environment, "definition")),
               created ? relative_time(*created, now) : "shipped", text_at(environment, "description")});
  }
  return table;
}

void print_table(Context& context, const json::array& environments) {
  context.console.out(environment_table(environments, context.clock.now())
                          .render(context.console.width(), context.console.colour_out()));
}

Result<int> list_environments(Context& context, bool all) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  const std::string path = session.in_workspace("/environments");
  SLIPWAY_ASSIGN(json::array environments, session.list(path, {}, 0));
  SLIPWAY_ASSIGN(const json::array curated, session.list(path, {{"curated", "true"}}, 0));
  std::string last;
  for (const json::value& item : std::views::reverse(curated)) {
    // Of those that are shipped the newest, unless all are asked for.
    const std::string name = text_at(item.as_object(), "name");
    if (all || name != last) environments.push_back(item);
    last = name;
  }
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(environments)}});
    return 0;
  }
  print_table(context, environments);
  return 0;
}

Result<int> list_versions(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array versions, session.list(environment_path(session, name) + "/versions", {}, 0));
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(versions)}});
    return 0;
  }
  print_table(context, versions);
  return 0;
}

Result<int> show_environment(Context& context, const std::string& name) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object environment, session.get(environment_path(session, name)));
  print_environment(context, environment);
  if (!context.console.json())
    context.console.hint(
        fmt::format("\nuse it:   slipway submit --env {0} -- python train.py\nits lock: slipway env lock {0}",
                    text_at(environment, "reference")));
  return 0;
}

Result<int> show_lock(Context& context, const std::string& name, const std::string& platform) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array locks, session.list(environment_path(session, name) + "/locks", {}, 0));
  if (!platform.empty())
    locks.erase(std::remove_if(locks.begin(), locks.end(),
                               [&](const json::value& item) {
                                 return text_at(item.as_object(), "platform") != platform;
                               }),
                locks.end());
  if (locks.empty())
    return fail(ErrorCode::kNotFound,
                fmt::format("'{}' has no lock yet{}", printable(name, 128),
                            platform.empty() ? "" : " for that platform"),
                fmt::format("the first run makes it; or now: slipway env build {}", printable(name, 128)));
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(locks)}});
    return 0;
  }
  const json::object& lock = locks.front().as_object();
  for (const json::value& item : locks) {
    const json::object& one = item.as_object();
    context.console.hint(fmt::format("{} {} for {}, {}", text_at(one, "builder"),
                                     text_at(one, "digest").substr(0, 12), text_at(one, "platform"),
                                     text_at(one, "created_at")));
  }
  const std::string text = text_at(lock, "lock");
  context.console.out(text.ends_with('\n') ? text : text + "\n");
  return 0;
}

std::string change_line(const json::object& change, bool colour) {
  const std::string name = printable(text_at(change, "name"));
  const std::string kind = text_at(change, "change");
  const auto value = [&](const char* side) {
    const std::string text = printable(text_at(change, side));
    return text.empty() ? std::string("any") : text;
  };
  if (kind == "added") return paint(fmt::format("+ {} {}", name, value("to")), Colour::kGreen, colour);
  if (kind == "removed") return paint(fmt::format("- {} {}", name, value("from")), Colour::kRed, colour);
  return paint(fmt::format("~ {} {} -> {}", name, value("from"), value("to")), Colour::kYellow, colour);
}

Result<int> diff_environments(Context& context, const std::string& from, const std::string& to) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object diff, session.get(session.in_workspace("/environment-diff") +
                                                      client::to_text({{"from", from}, {"to", to}})));
  if (context.console.json()) {
    context.console.print_json(diff);
    return 0;
  }
  const bool colour = context.console.colour_out();
  std::string out = fmt::format("from {}\nto   {}\n", text_at(diff, "from"), text_at(diff, "to"));
  const json::array& packages = array_at(diff, "packages");
  if (!packages.empty())
    out += fmt::format(
        "\n{}\n", flag_at(diff, "locked") ? "packages, of the locks" : "packages, as they are asked for");
  for (const json::value& item : packages) out += "  " + change_line(item.as_object(), colour) + "\n";
  bool more = false;
  for (const char* name : {"python", "channels", "variables", "container", "user_managed"}) {
    const json::object& section = object_at(diff, name);
    if (section.empty()) continue;
    more = true;
    out += fmt::format("\n{}\n  {}\n  {}\n", name,
                       paint("- " + printable(value_text(section.at("from"))), Colour::kRed, colour),
                       paint("+ " + printable(value_text(section.at("to"))), Colour::kGreen, colour));
  }
  if (packages.empty() && !more) out += "\nthe same\n";
  context.console.out(out);
  return 0;
}

}  // namespace

std::string environment_path(const Session& session, const std::string& reference) {
  return session.in_workspace("/environments/" + http::percent_encode(reference));
}

void print_environment(Context& context, const json::object& environment) {
  if (context.console.json()) {
    context.console.print_json(environment);
    return;
  }
  const json::object& definition = object_at(environment, "definition");
  const json::object& container = object_at(definition, "container");
  Facts facts;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.add(name, value);
  };
  facts.add("environment", text_at(environment, "reference"), Colour::kBold);
  add("description", text_at(environment, "description"));
  if (!text_at(environment, "note").empty()) facts.add("note", text_at(environment, "note"), Colour::kYellow);
  add("python", text_at(definition, "python"));
  if (flag_at(definition, "user_managed")) add("interpreter", text_at(definition, "interpreter"));
  add("pip", lines_text(texts_at(definition, "pip")));
  add("conda", lines_text(texts_at(definition, "conda")));
  add("channels", lines_text(texts_at(definition, "conda_channels")));
  if (flag_at(container, "enabled")) {
    add("image", text_at(container, "image"));
    add("Dockerfile", text_at(container, "dockerfile"));
    if (text_at(container, "shm_size") != "2g") add("shared memory", text_at(container, "shm_size"));
  }
  const auto pairs = [&](const char* name, const json::object& object) {
    std::string text;
    for (const auto& field : object)
      text += fmt::format("{}{}={}", text.empty() ? "" : "\n", std::string_view(field.key()),
                          value_text(field.value()));
    add(name, text);
  };
  pairs("variables", object_at(definition, "variables"));
  pairs("tags", object_at(environment, "tags"));
  add("substituted", lines_text(texts_at(environment, "applied")));
  add("key", text_at(environment, "key").substr(0, 16));
  if (const auto created = time_at(environment, "created_at"))
    facts.add("created", fmt::format("{} by {}", relative_time(*created, context.clock.now()),
                                     text_at(environment, "created_by")));
  context.console.out(facts.render(context.console.colour_out()));
}

void add_environment_lists(Command env, Context& context) {
  const auto all = std::make_shared<bool>();
  Command list =
      env.command("list", "List the environments, and those shipped with Slipway", "slipway env list");
  list.flag("--all", *all, "every version of the shipped ones");
  list.action([all, &context] { return list_environments(context, *all); });

  const auto add_named = [&](const char* name, const char* about, const char* example,
                             Result<int> (*act)(Context&, const std::string&)) {
    const auto environment = std::make_shared<std::string>();
    Command command = env.command(name, about, example);
    command.positional("NAME", *environment, "NAME, NAME:VERSION or curated/NAME", Completes::kEnvironment);
    command.action([environment, act, &context] { return act(context, *environment); });
  };
  add_named("show", "Show what an environment is made of, and what stands in for what",
            "slipway env show tf:2", show_environment);
  add_named("versions", "List the versions of an environment", "slipway env versions tf", list_versions);

  const auto lock = std::make_shared<std::pair<std::string, std::string>>();
  Command show_its_lock = env.command("lock", "Print the exact packages an environment was resolved to",
                                      "slipway env lock tf > requirements.lock");
  show_its_lock.positional("NAME", lock->first, "NAME, NAME:VERSION or curated/NAME",
                           Completes::kEnvironment);
  show_its_lock.option("--platform", lock->second, "NAME", "of this platform (the newest)");
  show_its_lock.action([lock, &context] { return show_lock(context, lock->first, lock->second); });

  const auto sides = std::make_shared<std::pair<std::string, std::string>>();
  Command diff =
      env.command("diff", "Say which packages differ between two environments", "slipway env diff tf:1 tf:2");
  diff.positional("FROM", sides->first, "an environment", Completes::kEnvironment);
  diff.positional("TO", sides->second, "another", Completes::kEnvironment);
  diff.action([sides, &context] { return diff_environments(context, sides->first, sides->second); });
}

void add_environment_commands(Command root, Context& context) {
  Command env =
      root.command("env", "What scripts need: describe, build and look at environments", "slipway env");
  env.action([&context] { return list_environments(context, false); });
  add_environment_changes(env, context);
  add_environment_lists(env, context);
  add_environment_builds(env, context);
  add_substitution_commands(env, context);
}

}  // namespace slipway::cli

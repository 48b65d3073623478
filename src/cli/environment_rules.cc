#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/environments.h"
#include "cli/quantities.h"
#include "cli/table.h"

namespace slipway::cli {
namespace {

struct RuleOptions {
  std::string kind, from, to;
};

std::string rules_path(const Session& session) {
  return session.in_workspace("/environment-substitutions");
}

std::string meaning(const json::object& rule) {
  std::string to = text_at(rule, "to");
  if (!to.empty()) return to;
  return text_at(rule, "kind") == "image" ? "(no container)" : "(left out)";
}

Result<int> list_rules(Context& context) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(json::array rules, session.list(rules_path(session), {}, 0));
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(rules)}});
    return 0;
  }
  Table table({{"KIND"}, {"FOR"}, {"STANDS IN"}, {""}});
  for (const json::value& item : rules) {
    const json::object& rule = item.as_object();
    table.add({text_at(rule, "kind"), text_at(rule, "from"), meaning(rule),
               flag_at(rule, "default") ? "on by default" : ""});
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
  return 0;
}

Result<int> add_rule(Context& context, const RuleOptions& options) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object rule,
                 session.change(http::Method::kPost, rules_path(session),
                                {{"kind", options.kind}, {"from", options.from}, {"to", options.to}}));
  if (context.console.json()) context.console.print_json(rule);
  context.console.hint(fmt::format("from now on {} {} means {}", printable(options.kind),
                                   printable(options.from), printable(meaning(rule))));
  return 0;
}

Result<int> remove_rule(Context& context, const RuleOptions& options) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_TRY(session.remove(rules_path(session) +
                             client::to_text({{"kind", options.kind}, {"from", options.from}})));
  if (context.console.json())
    context.console.print_json(json::object{{"kind", options.kind}, {"from", options.from}});
  context.console.hint(
      fmt::format("the rule for {} {} is gone", printable(options.kind), printable(options.from)));
  return 0;
}

}  // namespace

void add_substitution_commands(Command env, Context& context) {
  Command rules = env.command("substitution", "What stands in for packages, interpreters and images",
                              "slipway env substitution");
  rules.action([&context] { return list_rules(context); });
  rules.command("list", "List the rules in their order", "slipway env substitution list").action([&context] {
    return list_rules(context);
  });
  const std::vector<std::string> kinds{"package", "python", "image"};

  const auto added = std::make_shared<RuleOptions>();
  Command add = rules.command("add", "Let one thing stand in for another in every environment",
                              "slipway env substitution add package tensorflow-gpu tensorflow-cpu");
  add.example("slipway env substitution add python 3.6 3.8");
  add.example("slipway env substitution add image 'example.com/old/*' docker.io/library/debian:12");
  add.positional_choice("KIND", added->kind, kinds, "package, python or image");
  add.positional("FROM", added->from, "a package, the beginning of a version, or an image with '*'");
  add.positional("TO", added->to, "what stands in; without it, nothing does", Completes::kNothing, false);
  add.action([added, &context] { return add_rule(context, *added); });

  const auto removed = std::make_shared<RuleOptions>();
  Command remove = rules.command("remove", "Remove a rule, also one that is on by default",
                                 "slipway env substitution remove package tensorflow-gpu");
  remove.positional_choice("KIND", removed->kind, kinds, "package, python or image");
  remove.positional("FROM", removed->from, "what the rule is for");
  remove.action([removed, &context] { return remove_rule(context, *removed); });
}

}  // namespace slipway::cli

#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/quantities.h"
#include "cli/run_view.h"
#include "cli/runs.h"
#include "cli/session.h"
#include "cli/words.h"

namespace slipway::cli {
namespace {

constexpr std::string_view kSections[] = {"command", "environment", "variables", "compute",
                                          "data",    "git",         "result"};

std::string removed(std::string_view text, bool colour) {
  return "  " + paint(fmt::format("- {}", printable(text)), Colour::kRed, colour) + "\n";
}

std::string added(std::string_view text, bool colour) {
  return "  " + paint(fmt::format("+ {}", printable(text)), Colour::kGreen, colour) + "\n";
}

std::string text_of(const json::value& value) {
  if (!value.is_array()) return value_text(value);
  std::vector<std::string> words;
  words.reserve(value.get_array().size());
  for (const json::value& item : value.get_array()) words.push_back(value_text(item));
  return join_words(words);
}

// Objects are compared key by key, objects in them too ("metrics.loss"); everything else as a whole.
void add_changes(const json::value& from, const json::value& to, const std::string& name, bool colour,
                 std::string& out) {
  if (from == to) return;
  if (!from.is_object() || !to.is_object()) {
    const std::string label = name.empty() ? "" : name + "=";
    if (!from.is_null()) out += removed(label + text_of(from), colour);
    if (!to.is_null()) out += added(label + text_of(to), colour);
    return;
  }
  const std::string prefix = name.empty() ? "" : name + ".";
  for (const auto& field : from.get_object()) {
    const json::value* other = to.get_object().if_contains(field.key());
    add_changes(field.value(), other == nullptr ? json::value() : *other, prefix + std::string(field.key()),
                colour, out);
  }
  for (const auto& field : to.get_object())
    if (!from.get_object().contains(field.key()))
      add_changes(json::value(), field.value(), prefix + std::string(field.key()), colour, out);
}

std::string code_text(const json::array& code, bool colour) {
  std::string out;
  for (const json::value& item : code) {
    if (!item.is_object()) continue;
    const std::string path = text_at(item.get_object(), "path");
    const std::string change = text_at(item.get_object(), "change");
    if (change == "added") {
      out += added(path, colour);
    } else if (change == "removed") {
      out += removed(path, colour);
    } else {
      out += "  " + paint(fmt::format("~ {}", printable(path)), Colour::kYellow, colour) + "\n";
    }
  }
  return out;
}

Result<int> diff_runs(Context& context, const std::string& from, const std::string& to) {
  SLIPWAY_ASSIGN(Session session, Session::open(context));
  SLIPWAY_ASSIGN(const json::object first, session.find_run(from));
  SLIPWAY_ASSIGN(const json::object second, session.find_run(to));
  SLIPWAY_ASSIGN(
      const json::object diff,
      session.get(session.in_workspace("/run-diff") +
                  client::to_text({{"from", text_at(first, "id")}, {"to", text_at(second, "id")}})));
  if (context.console.json()) {
    context.console.print_json(diff);
  } else {
    context.console.out(diff_text(diff, context.console.colour_out()));
  }
  return 0;
}

}  // namespace

std::string diff_text(const json::object& diff, bool colour) {
  std::string out =
      fmt::format("from {}\nto   {}\n", printable(text_at(diff, "from")), printable(text_at(diff, "to")));
  std::string same;
  const auto section = [&](std::string_view name, const std::string& body) {
    if (body.empty()) {
      same += (same.empty() ? "" : ", ") + std::string(name);
    } else {
      out += fmt::format("\n{}\n{}", paint(name, Colour::kBold, colour), body);
    }
  };
  section("code", code_text(array_at(diff, "code"), colour));
  for (const std::string_view name : kSections) {
    const json::object& change = object_at(diff, name);
    const json::value* from = change.if_contains("from");
    const json::value* to = change.if_contains("to");
    std::string body;
    if (from != nullptr && to != nullptr) add_changes(*from, *to, "", colour, body);
    section(name, body);
  }
  if (!same.empty()) out += fmt::format("\nthe same: {}\n", same);
  return out;
}

void add_run_diff(Command run, Context& context) {
  const auto names = std::make_shared<std::pair<std::string, std::string>>();
  Command diff =
      run.command("diff", "Say what changed between two runs: code, command, environment, data, result",
                  "slipway run diff @2 latest");
  diff.positional("FROM", names->first, "a run", Completes::kRun);
  diff.positional("TO", names->second, "another run", Completes::kRun);
  diff.action([names, &context] { return diff_runs(context, names->first, names->second); });
}

}  // namespace slipway::cli

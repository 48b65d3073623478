#include "environments/substitution_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "environments/line_text.h"
#include "environments/substitutions.h"

namespace slipway::environments {
namespace {

constexpr size_t kMostRules = 200;

}  // namespace

Result<std::vector<Substitution>> list_substitutions(store::Reader& reader, const WorkspaceName& workspace) {
  std::vector<Substitution> rules;
  std::vector<Substitution> removed;
  SLIPWAY_TRY(
      reader.query("SELECT kind, pattern, replacement, removed FROM environment_substitutions WHERE "
                   "workspace = ? ORDER BY position",
                   {workspace}, [&](const store::Row& row) {
                     (row.integer(3) != 0 ? removed : rules)
                         .push_back({.kind = std::string(row.text(0)),
                                     .from = std::string(row.text(1)),
                                     .to = std::string(row.text(2))});
                   }));
  for (const Substitution& rule : default_substitutions())
    if (std::ranges::find(removed, rule) == removed.end()) rules.push_back(rule);
  return rules;
}

Status add_substitution(store::Writer& writer, const WorkspaceName& workspace, const Substitution& rule) {
  SLIPWAY_TRY(check_substitution(rule));
  SLIPWAY_TRY(
      writer.run("DELETE FROM environment_substitutions WHERE workspace = ? AND kind = ? AND pattern = ?",
                 {workspace, rule.kind, rule.from}));
  if (is_default(rule)) return {};
  SLIPWAY_ASSIGN(const auto rules, list_substitutions(writer, workspace));
  if (rules.size() >= kMostRules)
    return fail(ErrorCode::kExhausted, fmt::format("the workspace has {} rules already", rules.size()),
                "remove one: slipway env substitution remove");
  return writer.run(
      "INSERT INTO environment_substitutions (workspace, kind, pattern, replacement, removed) VALUES (?, ?, "
      "?, ?, 0)",
      {workspace, rule.kind, rule.from, rule.to});
}

Status remove_substitution(store::Writer& writer, const WorkspaceName& workspace, const std::string& kind,
                           const std::string& from) {
  SLIPWAY_ASSIGN(const auto rules, list_substitutions(writer, workspace));
  const auto rule = std::ranges::find_if(
      rules, [&](const Substitution& one) { return one.kind == kind && one.from == from; });
  if (rule == rules.end())
    return fail(ErrorCode::kNotFound, fmt::format("there is no rule for {} '{}'", shown(kind), shown(from)),
                "slipway env substitution list shows what there is");
  SLIPWAY_TRY(
      writer.run("DELETE FROM environment_substitutions WHERE workspace = ? AND kind = ? AND pattern = ?",
                 {workspace, kind, from}));
  if (!is_default(*rule)) return {};
  return writer.run(
      "INSERT INTO environment_substitutions (workspace, kind, pattern, replacement, removed) VALUES (?, ?, "
      "?, ?, 1)",
      {workspace, rule->kind, rule->from, rule->to});
}

}  // namespace slipway::environments

#include "runs/run_environment.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace slipway::runs {
namespace {

constexpr size_t kMostSentences = 200;
constexpr size_t kLongestText = 4096;

json::object asked_json(const RunEnvironment& environment) {
  json::array rules;
  for (const Substitution& rule : environment.substitutions) rules.push_back(slipway::to_json(rule));
  return {{"reference", environment.reference},
          {"key", environment.key},
          {"substitutions", std::move(rules)},
          {"note", environment.note},
          {"pinned_lock", environment.pinned_lock}};
}

Result<RunEnvironment> asked_from_json(const json::object& object) {
  RunEnvironment environment;
  json::array rules;
  JsonFields fields(object, "a run's environment");
  fields.required("reference", environment.reference);
  fields.required("key", environment.key);
  fields.required("substitutions", rules);
  fields.optional("note", environment.note);
  fields.optional("pinned_lock", environment.pinned_lock);
  SLIPWAY_TRY(fields.finish_lenient());
  for (const json::value& rule : rules) {
    if (!rule.is_object()) return fail(ErrorCode::kInternal, "a stored substitution is no object");
    SLIPWAY_ASSIGN(Substitution parsed, substitution_from_json(rule.get_object()));
    environment.substitutions.push_back(std::move(parsed));
  }
  return environment;
}

Status check_report(const json::object& report) {
  std::string build, builder, python, lock_digest;
  std::vector<std::string> applied;
  double seconds = 0;
  bool reused = false;
  JsonFields fields(report, "the report on the environment");
  fields.required("builder", builder);
  fields.optional("build", build);
  fields.optional("python", python);
  fields.optional("lock_digest", lock_digest);
  fields.optional("applied", applied);
  fields.optional("seconds", seconds);
  fields.optional("reused", reused);
  SLIPWAY_TRY(fields.finish_lenient());
  bool good = applied.size() <= kMostSentences;
  for (const std::string& text : applied) good = good && text.size() <= kLongestText;
  for (const std::string* text : {&build, &builder, &python, &lock_digest})
    good = good && text->size() <= kLongestText;
  if (!good) return fail(ErrorCode::kTooLarge, "the report on the environment is too large");
  return {};
}

// One side of a difference: how it is called, what it ran with, and all its packages.
struct Side {
  json::object facts;
  environments::Packages packages;
};

Result<Side> side_of(store::Reader& reader, const Run& run) {
  Side side;
  side.facts["name"] = run.job.environment;
  SLIPWAY_ASSIGN(const auto environment, load_run_environment(reader, run));
  if (!environment) return side;
  if (const auto* report = environment->report.if_object())
    for (const char* field : {"python", "builder"})
      if (const json::value* value = report->if_contains(field)) side.facts[field] = *value;
  SLIPWAY_ASSIGN(side.packages, packages_of_run(reader, run));
  return side;
}

}  // namespace

Result<environments::Resolved> resolve_for(store::Reader& reader, const WorkspaceName& workspace,
                                           const std::string& environment, const RunEnvironment* original) {
  using environments::Deleted;
  SLIPWAY_ASSIGN(auto resolved,
                 environments::resolve_environment(reader, workspace, environment,
                                                   original == nullptr ? Deleted::kHidden : Deleted::kFound));
  if (original == nullptr) return resolved;
  resolved.substitutions = original->substitutions;
  resolved.key = original->key;
  resolved.note = original->note;
  return resolved;
}

Result<std::optional<RunEnvironment>> load_run_environment(store::Reader& reader, const Run& run) {
  std::string asked;
  std::optional<std::string> report;
  SLIPWAY_TRY(reader.query("SELECT asked, report FROM run_environments WHERE run_seq = ?", {run.seq},
                           [&](const store::Row& row) {
                             asked = row.text(0);
                             report = row.maybe_text(1);
                           }));
  if (asked.empty()) return std::optional<RunEnvironment>();
  SLIPWAY_ASSIGN(const json::object document, parse_json_object(asked, "a run's environment"));
  SLIPWAY_ASSIGN(RunEnvironment environment, asked_from_json(document));
  if (report) {
    SLIPWAY_ASSIGN(environment.report, parse_json(*report, "the report on a run's environment"));
  }
  return std::optional(std::move(environment));
}

std::string lock_of(const RunEnvironment& environment) {
  if (const auto* report = environment.report.if_object())
    if (const auto* digest = report->if_contains("lock_digest"); digest != nullptr && digest->is_string())
      return std::string(digest->get_string());
  return environment.pinned_lock;
}

Status store_run_environment(store::Writer& writer, const Run& run, const environments::Resolved& resolved,
                             const std::string& pinned_lock) {
  if (resolved.key.empty()) return {};
  const RunEnvironment environment{.reference = resolved.reference(),
                                   .key = resolved.key,
                                   .substitutions = resolved.substitutions,
                                   .note = resolved.note,
                                   .pinned_lock = pinned_lock,
                                   .report = nullptr};
  return writer.run("INSERT INTO run_environments (run_seq, asked) VALUES (?, ?)",
                    {run.seq, json::serialize(asked_json(environment))});
}

Result<EnvironmentOrder> environment_order(store::Reader& reader, const Run& run,
                                           const std::string& platform) {
  SLIPWAY_ASSIGN(const auto asked, load_run_environment(reader, run));
  if (!asked) return EnvironmentOrder{};
  SLIPWAY_ASSIGN(auto resolved, resolve_for(reader, run.workspace, asked->reference, &*asked));
  const auto holds = [&](const environments::StoredLock& lock) {
    return platform.empty() || lock.platform == platform;
  };
  if (!asked->pinned_lock.empty()) {
    SLIPWAY_ASSIGN(const auto pinned, environments::lock_of_digest(reader, run.workspace, asked->key,
                                                                   asked->pinned_lock, platform));
    if (pinned && holds(*pinned)) return environments::order_for(resolved, pinned->text);
    if (pinned)
      resolved.note +=
          fmt::format("{}the lock of the run that this one repeats is for {}, and this node is {}",
                      resolved.note.empty() ? "" : "; ", pinned->platform, platform);
  }
  SLIPWAY_ASSIGN(const auto current, environments::current_locks(reader, run.workspace, asked->key));
  const auto found = std::ranges::find_if(current, holds);
  return environments::order_for(resolved, found == current.end() ? "" : found->text);
}

Status take_environment_report(store::Writer& writer, const Run& run, int rank, const json::object& report) {
  SLIPWAY_TRY(check_report(report));
  return writer.run(rank == 0 ? "UPDATE run_environments SET report = ? WHERE run_seq = ?"
                              : "UPDATE run_environments SET report = ? WHERE run_seq = ? AND report IS NULL",
                    {json::serialize(report), run.seq});
}

json::object to_json(const RunEnvironment& environment) {
  json::object object = asked_json(environment);
  object.erase("pinned_lock");
  object["lock_digest"] = lock_of(environment);
  if (const auto* report = environment.report.if_object())
    for (const char* field : {"build", "builder", "python", "applied", "seconds", "reused"})
      if (const json::value* value = report->if_contains(field)) object[field] = *value;
  return object;
}

Result<environments::Packages> packages_of_run(store::Reader& reader, const Run& run) {
  SLIPWAY_ASSIGN(const auto environment, load_run_environment(reader, run));
  if (!environment) return environments::Packages();
  SLIPWAY_ASSIGN(const auto lock, environments::lock_of_digest(reader, run.workspace, environment->key,
                                                               lock_of(*environment)));
  if (lock) return environments::packages_of_lock(lock->text);
  SLIPWAY_ASSIGN(const auto resolved,
                 resolve_for(reader, run.workspace, environment->reference, &*environment));
  return environments::packages_of(resolved.environment.definition);
}

Result<json::value> environment_changes(store::Reader& reader, const Run& from, const Run& to) {
  SLIPWAY_ASSIGN(Side before, side_of(reader, from));
  SLIPWAY_ASSIGN(Side after, side_of(reader, to));
  const json::array changes = environments::package_changes(before.packages, after.packages);
  if (changes.empty() && before.facts == after.facts) return json::value(nullptr);
  json::object packages_before, packages_after;
  for (const json::value& item : changes) {
    const json::object& change = item.get_object();
    const auto& name = change.at("name").get_string();
    if (!change.at("from").is_null()) packages_before[name] = change.at("from");
    if (!change.at("to").is_null()) packages_after[name] = change.at("to");
  }
  before.facts["packages"] = std::move(packages_before);
  after.facts["packages"] = std::move(packages_after);
  return json::value(json::object{{"from", std::move(before.facts)}, {"to", std::move(after.facts)}});
}

}  // namespace slipway::runs

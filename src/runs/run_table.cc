#include "runs/run_table.h"

#include <fmt/format.h>

#include "base/log.h"

namespace slipway::runs {
namespace {

constexpr std::string_view kColumns =
    "r.seq, r.id, r.workspace, r.state, r.resume_state, r.attempt, r.job, r.display_name, r.submitted_at, "
    "r.started_at, r.ended_at, r.exit_code, r.reason, r.submitted_by, r.rerun_of, r.warnings, r.skipped, "
    "r.type, r.parent, r.root, r.description, r.error_code, r.kind, r.preemptions, r.gives_way_to, "
    "r.waiting_since";

constexpr std::string_view kActive =
    "('NotStarted', 'Queued', 'Preparing', 'Starting', 'Running', 'Finalizing', 'CancelRequested', "
    "'NotResponding')";

// The family of one run, itself left out.
constexpr std::string_view kDescendants =
    "WITH RECURSIVE family (id) AS (SELECT id FROM runs WHERE parent = ? UNION ALL "
    "SELECT below.id FROM runs below JOIN family ON below.parent = family.id) SELECT id FROM family";

std::optional<Timestamp> maybe_time(const store::Row& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.time(column);
}

// Columns that Slipway itself wrote: anything unreadable there is a broken invariant of the store, not bad
// input.
RunState state_column(std::string_view text) {
  const auto state = run_state_from_text(text);
  if (!state) abort_because(fmt::format("the store holds an unknown run state '{}'", text));
  return *state;
}

std::vector<std::string> list_column(std::string_view text) {
  std::vector<std::string> list;
  const auto value = parse_json(text, "a stored list");
  if (value && value->is_array())
    for (const json::value& item : value->get_array())
      if (item.is_string()) list.emplace_back(item.get_string());
  return list;
}

// What the record of an interactive run has of a job: it has no command, which every other job must have.
Result<Job> interactive_job(const json::object& document) {
  Job job;
  json::object git;
  JsonFields fields(document, "a stored record");
  fields.required("experiment", job.experiment);
  fields.optional("snapshot", job.snapshot);
  fields.optional("git", git);
  SLIPWAY_TRY(fields.finish_lenient());
  JsonFields git_fields(git, "a stored git state");
  git_fields.optional("commit", job.git.commit);
  git_fields.optional("branch", job.git.branch);
  git_fields.optional("remote", job.git.remote);
  git_fields.optional("dirty", job.git.dirty);
  SLIPWAY_TRY(git_fields.finish_lenient());
  job.compute = ClusterName("");
  job.environment.clear();
  return job;
}

Result<Job> job_column(RunType type, std::string_view text) {
  SLIPWAY_ASSIGN(const json::object document, parse_json_object(text, "a stored job"));
  return type == RunType::kJob ? job_from_json(document) : interactive_job(document);
}

Run read_run(const store::Row& row) {
  Run run;
  run.seq = row.integer(0);
  run.id = row.id<RunId>(1);
  run.workspace = row.id<WorkspaceName>(2);
  run.state = state_column(row.text(3));
  if (!row.is_null(4)) run.resume_state = state_column(row.text(4));
  run.attempt = static_cast<int>(row.integer(5));
  run.type = run_type_from_text(row.text(17)).value_or(RunType::kJob);
  auto job = job_column(run.type, row.text(6));
  if (!job)
    abort_because(fmt::format("the stored job of {} cannot be read: {}", run.id, job.error().message));
  run.job = std::move(*job);
  run.display_name = row.text(7);
  run.submitted_at = row.time(8);
  run.started_at = maybe_time(row, 9);
  run.ended_at = maybe_time(row, 10);
  run.exit_code = row.maybe_integer(11);
  run.reason = row.text(12);
  run.submitted_by = row.text(13);
  if (!row.is_null(14)) run.rerun_of = row.id<RunId>(14);
  run.warnings = list_column(row.text(15));
  run.skipped = list_column(row.text(16));
  if (!row.is_null(18)) run.parent = row.id<RunId>(18);
  if (!row.is_null(19)) run.root = row.id<RunId>(19);
  run.description = row.text(20);
  run.error_code = row.text(21);
  run.kind = run_kind_from_text(row.text(22)).value_or(RunKind::kJob);
  run.preemptions = static_cast<int>(row.integer(23));
  if (!row.is_null(24)) run.gives_way_to = row.id<RunId>(24);
  run.waiting_since = maybe_time(row, 25).value_or(run.submitted_at);
  return run;
}

Status load_pairs(store::Reader& reader, Run& run) {
  SLIPWAY_TRY(reader.query("SELECT key, value FROM run_tags WHERE run_seq = ?", {run.seq},
                           [&](const store::Row& row) { run.tags.emplace(row.text(0), row.text(1)); }));
  return reader.query("SELECT key, value FROM run_properties WHERE run_seq = ?", {run.seq},
                      [&](const store::Row& row) { run.properties.emplace(row.text(0), row.text(1)); });
}

Result<std::vector<Run>> select_runs(store::Reader& reader, std::string_view rest,
                                     const store::Values& values) {
  std::vector<Run> runs;
  SLIPWAY_TRY(reader.query(fmt::format("SELECT {} FROM {}", kColumns, rest), values,
                           [&](const store::Row& row) { runs.push_back(read_run(row)); }));
  for (Run& run : runs) SLIPWAY_TRY(load_pairs(reader, run));
  return runs;
}

auto no_such_run(std::string_view text) {
  return fail(ErrorCode::kNotFound, fmt::format("there is no run '{}'", text.substr(0, 64)),
              "slipway run list shows what there is");
}

std::string list_text(const std::vector<std::string>& list) {
  return json::serialize(to_json(list));
}

}  // namespace

Result<Run> load_run(store::Reader& reader, const WorkspaceName& workspace, const RunId& id) {
  SLIPWAY_ASSIGN(auto runs,
                 select_runs(reader, "runs r WHERE r.id = ? AND r.workspace = ?", {id, workspace}));
  if (runs.empty()) return no_such_run(id.str());
  return std::move(runs.front());
}

Result<Run> load_run(store::Reader& reader, const RunId& id) {
  SLIPWAY_ASSIGN(auto runs, select_runs(reader, "runs r WHERE r.id = ?", {id}));
  if (runs.empty()) return no_such_run(id.str());
  return std::move(runs.front());
}

Result<RunId> resolve_run(store::Reader& reader, const WorkspaceName& workspace, const std::string& text) {
  std::vector<RunId> found;
  const auto collect = [&](const store::Row& row) { found.push_back(row.id<RunId>(0)); };
  if (text == "latest") {
    SLIPWAY_TRY(reader.query("SELECT id FROM runs WHERE workspace = ? AND kind = ? ORDER BY seq DESC LIMIT 1",
                             {workspace, to_text(RunKind::kJob)}, collect));
  } else {
    SLIPWAY_TRY(
        reader.query("SELECT id FROM runs WHERE id = ? AND workspace = ?", {text, workspace}, collect));
    if (found.empty() && !text.empty()) {
      // A range instead of LIKE: the index serves it and no character of the text has a meaning.
      SLIPWAY_TRY(reader.query("SELECT id FROM runs WHERE id >= ? AND id < ? AND workspace = ? LIMIT 2",
                               {text, text + '\x7f', workspace}, collect));
    }
  }
  if (found.empty()) return no_such_run(text);
  if (found.size() > 1)
    return fail(ErrorCode::kInvalidArgument, fmt::format("several runs begin with '{}'", text.substr(0, 64)),
                "give more characters of the id");
  return found.front();
}

namespace {

// Adds what keeps only the runs that have all these tags or properties.
void require_pairs(const std::vector<WantedPair>& pairs, std::string_view table, std::string& from,
                   store::Values& values) {
  for (const WantedPair& pair : pairs) {
    from += fmt::format(" AND EXISTS (SELECT 1 FROM {} p WHERE p.run_seq = r.seq AND p.key = ?{})", table,
                        pair.value ? " AND p.value = ?" : "");
    values.emplace_back(pair.key);
    if (pair.value) values.emplace_back(*pair.value);
  }
}

}  // namespace

Result<std::vector<Run>> list_runs(store::Reader& reader, const WorkspaceName& workspace,
                                   const RunFilter& filter) {
  std::string from = "runs r WHERE r.workspace = ? AND r.seq < ?";
  store::Values values{workspace, filter.before_seq};
  std::vector<WantedPair> tags = filter.tags;
  const bool by_tag = !tags.empty() && tags.front().value && !filter.parent;
  if (by_tag) {
    // Driven by the tag's own index, which is in order of submission as well.
    from =
        "run_tags t JOIN runs r ON r.seq = t.run_seq WHERE t.workspace = ? AND t.run_seq < ? AND t.key = ? "
        "AND t.value = ?";
    values.emplace_back(tags.front().key);
    values.emplace_back(*tags.front().value);
    tags.erase(tags.begin());
  }
  const auto require = [&](std::string_view condition, store::Value value) {
    from += condition;
    values.push_back(std::move(value));
  };
  if (filter.parent && filter.recursive)
    require(fmt::format(" AND r.id IN ({})", kDescendants), *filter.parent);
  else if (filter.parent)
    require(" AND r.parent = ?", *filter.parent);
  if (filter.without_parent) from += " AND r.parent IS NULL";
  if (filter.experiment) require(" AND r.experiment = ?", *filter.experiment);
  if (filter.state) require(" AND r.state = ?", to_text(*filter.state));
  if (filter.type) require(" AND r.type = ?", to_text(*filter.type));
  if (filter.kind) require(" AND r.kind = ?", to_text(*filter.kind));
  require_pairs(tags, "run_tags", from, values);
  require_pairs(filter.properties, "run_properties", from, values);
  require(by_tag ? " ORDER BY t.run_seq DESC LIMIT ?" : " ORDER BY r.seq DESC LIMIT ?", filter.limit);
  return select_runs(reader, from, values);
}

Result<std::vector<Run>> active_descendants(store::Reader& reader, const RunId& run) {
  return select_runs(
      reader,
      fmt::format("runs r WHERE r.id IN ({}) AND r.state IN {} ORDER BY r.seq", kDescendants, kActive),
      {run});
}

Result<int> depth_of(store::Reader& reader, const Run& run) {
  int depth = 0;
  SLIPWAY_TRY(
      reader.query("WITH RECURSIVE above (id) AS (SELECT parent FROM runs WHERE id = ? UNION ALL "
                   "SELECT r.parent FROM runs r JOIN above ON r.id = above.id) SELECT COUNT(id) FROM above",
                   {run.id}, [&](const store::Row& row) { depth = static_cast<int>(row.integer(0)); }));
  return depth;
}

Status insert_run(store::Writer& writer, Run& run) {
  run.waiting_since = run.submitted_at;
  SLIPWAY_TRY(writer.query(
      "INSERT INTO runs (id, workspace, experiment, cluster, state, attempt, job, snapshot, display_name, "
      "submitted_at, reason, submitted_by, rerun_of, warnings, skipped, type, kind, parent, root, "
      "description, event_count) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0) "
      "RETURNING seq",
      {run.id,
       run.workspace,
       run.job.experiment,
       run.job.compute,
       to_text(run.state),
       run.attempt,
       json::serialize(to_json(run.job)),
       run.job.snapshot,
       run.display_name,
       run.submitted_at,
       run.reason,
       run.submitted_by,
       run.rerun_of,
       list_text(run.warnings),
       list_text(run.skipped),
       to_text(run.type),
       to_text(run.kind),
       run.parent,
       run.root,
       run.description},
      [&](const store::Row& row) { run.seq = row.integer(0); }));
  SLIPWAY_TRY(set_tags(writer, run, run.tags));
  return add_properties(writer, run, run.properties);
}

Status store_transition(store::Writer& writer, const Run& run, const RunEvent& event) {
  int64_t seq = 0;
  SLIPWAY_TRY(
      writer.query("UPDATE runs SET state = ?, resume_state = ?, attempt = ?, started_at = ?, ended_at = ?, "
                   "exit_code = ?, reason = ?, error_code = ?, preemptions = ?, gives_way_to = ?, "
                   "waiting_since = ?, event_count = event_count + 1 WHERE seq = ? RETURNING event_count",
                   {to_text(run.state), to_text(run.resume_state), run.attempt, run.started_at, run.ended_at,
                    run.exit_code, run.reason, run.error_code, run.preemptions, run.gives_way_to,
                    run.waiting_since, run.seq},
                   [&](const store::Row& row) { seq = row.integer(0); }));
  if (seq == 0) return no_such_run(run.id.str());
  return writer.run(
      "INSERT INTO run_events (run_seq, seq, time, kind, state, attempt, reason, detail) VALUES (?, ?, ?, ?, "
      "?, ?, ?, '{}')",
      {run.seq, seq, event.time, event.kind, to_text(event.state), event.attempt, event.reason});
}

Status store_skipped(store::Writer& writer, const Run& run) {
  return writer.run("UPDATE runs SET skipped = ? WHERE seq = ?", {list_text(run.skipped), run.seq});
}

Status store_warnings(store::Writer& writer, const Run& run) {
  return writer.run("UPDATE runs SET warnings = ? WHERE seq = ?", {list_text(run.warnings), run.seq});
}

Status set_tags(store::Writer& writer, const Run& run, const std::map<std::string, std::string>& tags) {
  for (const auto& [key, value] : tags) {
    SLIPWAY_TRY(
        writer.run("INSERT INTO run_tags (run_seq, workspace, key, value) VALUES (?, ?, ?, ?) "
                   "ON CONFLICT (run_seq, key) DO UPDATE SET value = excluded.value",
                   {run.seq, run.workspace, key, value}));
  }
  return {};
}

Status remove_tag(store::Writer& writer, const Run& run, const std::string& key) {
  SLIPWAY_TRY(writer.run("DELETE FROM run_tags WHERE run_seq = ? AND key = ?", {run.seq, key}));
  return {};
}

Status add_properties(store::Writer& writer, const Run& run,
                      const std::map<std::string, std::string>& properties) {
  for (const auto& [key, value] : properties) {
    SLIPWAY_TRY(
        writer.run("INSERT INTO run_properties (run_seq, workspace, key, value) VALUES (?, ?, ?, ?) ON "
                   "CONFLICT DO NOTHING",
                   {run.seq, run.workspace, key, value}));
    std::string stored;
    SLIPWAY_TRY(writer.query("SELECT value FROM run_properties WHERE run_seq = ? AND key = ?", {run.seq, key},
                             [&](const store::Row& row) { stored = row.text(0); }));
    if (stored != value)
      return fail(ErrorCode::kConflict,
                  fmt::format("the property '{}' of {} is set already and cannot be changed", key, run.id),
                  "use another name, or a tag, which can be changed");
  }
  return {};
}

Status set_display_name(store::Writer& writer, const Run& run, const std::string& name) {
  SLIPWAY_TRY(writer.run("UPDATE runs SET display_name = ? WHERE seq = ?", {name, run.seq}));
  return {};
}

Status set_description(store::Writer& writer, const Run& run, const std::string& description) {
  return writer.run("UPDATE runs SET description = ? WHERE seq = ?", {description, run.seq});
}

Status delete_run_rows(store::Writer& writer, const Run& run) {
  for (const std::string_view statement :
       {"DELETE FROM run_tags WHERE run_seq = ?", "DELETE FROM run_properties WHERE run_seq = ?",
        "DELETE FROM run_events WHERE run_seq = ?", "DELETE FROM attempt_nodes WHERE run_seq = ?",
        "DELETE FROM run_environments WHERE run_seq = ?", "DELETE FROM runs WHERE seq = ?"}) {
    SLIPWAY_TRY(writer.run(statement, {run.seq}));
  }
  return {};
}

Result<std::vector<RunEvent>> list_events(store::Reader& reader, int64_t run_seq, int64_t after,
                                          int64_t limit) {
  std::vector<RunEvent> events;
  SLIPWAY_TRY(
      reader.query("SELECT seq, time, kind, state, attempt, reason FROM run_events WHERE run_seq = ? AND seq "
                   "> ? ORDER BY seq LIMIT ?",
                   {run_seq, after, limit}, [&](const store::Row& row) {
                     events.push_back(RunEvent{.seq = row.integer(0),
                                               .time = row.time(1),
                                               .kind = std::string(row.text(2)),
                                               .state = state_column(row.text(3)),
                                               .attempt = static_cast<int>(row.integer(4)),
                                               .reason = std::string(row.text(5))});
                   }));
  return events;
}

Result<std::vector<std::string>> events_of_kind(store::Reader& reader, const Run& run,
                                                std::string_view kind) {
  std::vector<std::string> sentences;
  SLIPWAY_TRY(reader.query(
      "SELECT reason FROM run_events WHERE run_seq = ? AND attempt = ? AND kind = ? ORDER BY time "
      "LIMIT 100",
      {run.seq, run.attempt, kind}, [&](const store::Row& row) { sentences.emplace_back(row.text(0)); }));
  return sentences;
}

Status for_each_active(store::Reader& reader, const std::function<void(const Run&)>& visit) {
  return reader.query(
      fmt::format("SELECT {} FROM runs r WHERE r.state IN {} ORDER BY r.seq", kColumns, kActive), {},
      [&](const store::Row& row) { visit(read_run(row)); });
}

Result<std::map<std::string, int64_t>> count_by_state(store::Reader& reader) {
  std::map<std::string, int64_t> counts;
  SLIPWAY_TRY(reader.query("SELECT state, COUNT(*) FROM runs GROUP BY state", {}, [&](const store::Row& row) {
    counts[std::string(row.text(0))] = row.integer(1);
  }));
  return counts;
}

}  // namespace slipway::runs

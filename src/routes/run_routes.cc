// Submitting, listing, looking at and ending runs.
#include <fmt/format.h>

#include "routes/request.h"
#include "routes/services.h"
#include "runs/deletion.h"
#include "runs/diff.h"
#include "runs/run_table.h"
#include "runs/streams.h"

namespace slipway::routes {
namespace {

using http::Access;
using http::Method;
using http::Request;
using http::Response;
using runs::Run;

constexpr size_t kMostTags = 256;
constexpr size_t kLongestTagKey = 250;
constexpr size_t kLongestTagValue = 8000;

Response submitted(Services& services, const runs::Submitted& result) {
  return http::json_response(describe(services, result.run), result.repeated ? 200 : 201);
}

Result<Response> submit(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the job"));
  SLIPWAY_ASSIGN(Job job, job_from_json(body));
  SLIPWAY_ASSIGN(auto key, request_key(request, workspace_of(request).str()));
  SLIPWAY_ASSIGN(const auto result, services.submissions.submit({.workspace = workspace_of(request),
                                                                 .job = std::move(job),
                                                                 .request = std::move(key),
                                                                 .submitted_by = request.caller.name,
                                                                 .parent = std::nullopt}));
  return submitted(services, result);
}

Result<Response> rerun(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run original, run_of(services, request));
  SLIPWAY_ASSIGN(const auto key, request_key(request, workspace_of(request).str()));
  SLIPWAY_ASSIGN(const auto result, services.submissions.rerun(original, key.key, request.caller.name));
  return submitted(services, result);
}

Result<runs::RunFilter> filter_of(const Request& request) {
  runs::RunFilter filter;
  SLIPWAY_ASSIGN(filter.limit, limit_of(request));
  SLIPWAY_ASSIGN(const auto cursor, cursor_of(request));
  if (cursor) filter.before_seq = *cursor;
  if (const auto experiment = request.query_value("experiment"))
    filter.experiment = ExperimentName(*experiment);
  if (const auto text = request.query_value("state")) {
    filter.state = runs::run_state_from_text(*text);
    if (!filter.state) {
      std::string names;
      for (const runs::RunState state : runs::kAllRunStates)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", to_text(state));
      return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no state of a run", text->substr(0, 64)),
                  "the states are " + names);
    }
  }
  if (const auto tag = request.query_value("tag")) {
    const size_t equals = tag->find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(ErrorCode::kInvalidArgument, "a tag to filter by is written key=value");
    filter.tag = {tag->substr(0, equals), tag->substr(equals + 1)};
  }
  return filter;
}

Result<Response> list(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(runs::RunFilter filter, filter_of(request));
  const int64_t wanted = filter.limit++;  // one more tells whether there is a next page
  std::vector<Run> found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(found, runs::list_runs(reader, workspace_of(request), filter));
    return {};
  }));
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) > wanted) {
    found.pop_back();
    next = encode_cursor(found.back().seq);
  }
  json::array items;
  const Timestamp now = services.clock.now();
  for (const Run& run : found)
    items.push_back(runs::to_json(run, now, services.orchestrator.why_waiting(run), {}));
  return page(std::move(items), next);
}

Result<Response> show(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  return http::json_response(describe(services, run));
}

// Tags to set, and those to remove: the ones whose value is null.
struct TagChange {
  std::map<std::string, std::string> set;
  std::vector<std::string> remove;
};

Result<TagChange> tag_change(const json::object& tags) {
  TagChange change;
  for (const auto& tag : tags) {
    const std::string key(tag.key());
    if (key.empty() || key.size() > kLongestTagKey)
      return fail(ErrorCode::kInvalidArgument, fmt::format("a tag's key has 1 to {} bytes", kLongestTagKey));
    if (tag.value().is_null()) {
      change.remove.push_back(key);
    } else if (tag.value().is_string() && tag.value().get_string().size() <= kLongestTagValue) {
      change.set.emplace(key, tag.value().get_string());
    } else {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the value of tag '{}' must be a string of at most {} bytes, or null", key,
                              kLongestTagValue));
    }
  }
  if (change.set.size() > kMostTags)
    return fail(ErrorCode::kInvalidArgument, fmt::format("a run has at most {} tags", kMostTags));
  return change;
}

Result<Response> change(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the change"));
  json::object tags;
  std::optional<std::string> name;
  JsonFields fields(body, "the change");
  fields.optional("tags", tags);
  fields.optional("display_name", name);
  SLIPWAY_TRY(fields.finish());
  SLIPWAY_ASSIGN(const TagChange tag_changes, tag_change(tags));
  SLIPWAY_ASSIGN(Run run, run_of(services, request));
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_TRY(runs::set_tags(writer, run, tag_changes.set));
    for (const std::string& key : tag_changes.remove) SLIPWAY_TRY(runs::remove_tag(writer, run, key));
    if (name) SLIPWAY_TRY(runs::set_display_name(writer, run, *name));
    SLIPWAY_ASSIGN(run, runs::load_run(writer, run.workspace, run.id));
    return {};
  }));
  return http::json_response(describe(services, run));
}

Result<Response> remove(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_TRY(runs::delete_run(services.database, services.metrics, services.logs, run));
  services.housekeeping.wake();
  return http::empty_response();
}

Result<Response> cancel(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(Run run, run_of(services, request));
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(run, runs::load_run(writer, run.workspace, run.id));
    auto verdict = services.orchestrator.transitions().apply(
        writer, run,
        {.kind = runs::EventKind::kCancelAsked,
         .reason = fmt::format("canceled by {}", request.caller.name),
         .outcome = {}});
    if (!verdict) return fail(std::move(verdict).error());
    return {};
  }));
  return http::json_response(describe(services, run), 202);
}

Result<Response> events(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  SLIPWAY_ASSIGN(const auto cursor, cursor_of(request));
  SLIPWAY_ASSIGN(const int64_t first, request.query_int("after", 0, 0, INT64_MAX));
  const int64_t after = cursor.value_or(first);  // a later page goes on from its cursor
  std::vector<runs::RunEvent> found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(found, runs::list_events(reader, run.seq, after, limit));
    return {};
  }));
  json::array items;
  for (const runs::RunEvent& event : found) items.push_back(runs::to_json(event));
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) == limit) next = encode_cursor(found.back().seq);
  return page(std::move(items), next);
}

Result<Response> event_stream(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(const int64_t after, position_of(request, "after"));
  return http::event_response(runs::run_event_stream(services.database, run, after));
}

Result<Response> diff(Services& services, const Request& request) {
  std::vector<Run> sides;
  std::vector<snapshot::Manifest> sources;
  std::vector<std::map<std::string, double>> metrics;
  for (const std::string_view name : {"from", "to"}) {
    const auto text = request.query_value(name);
    if (!text)
      return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is missing", name),
                  "name two runs: ?from=A&to=B");
    Run run;
    std::map<std::string, double> last;
    SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(const RunId id, runs::resolve_run(reader, workspace_of(request), *text));
      SLIPWAY_ASSIGN(run, runs::load_run(reader, workspace_of(request), id));
      return {};
    }));
    SLIPWAY_ASSIGN(const auto summaries, services.metrics.summaries(run.id, "", kLargestPage));
    for (const metrics::Summary& summary : summaries) last.emplace(summary.name, summary.last_value);
    snapshot::Manifest source;
    if (!run.job.snapshot.empty()) {
      SLIPWAY_ASSIGN(source, services.snapshots.load(run.workspace, run.job.snapshot));
    }
    sides.push_back(std::move(run));
    sources.push_back(std::move(source));
    metrics.push_back(std::move(last));
  }
  return http::json_response(
      runs::diff_runs({sides[0], sources[0], metrics[0]}, {sides[1], sources[1], metrics[1]}));
}

}  // namespace

std::vector<RouteRow> run_routes() {
  const std::string runs = "/api/v1/workspaces/{workspace}/runs";
  return {
      {Method::kPost, runs, Access::kContributor, submit},
      {Method::kGet, runs, Access::kReader, list},
      {Method::kGet, runs + "/{run}", Access::kReader, show},
      {Method::kPatch, runs + "/{run}", Access::kRun, change},
      {Method::kDelete, runs + "/{run}", Access::kContributor, remove},
      {Method::kPost, runs + "/{run}/cancel", Access::kContributor, cancel},
      {Method::kPost, runs + "/{run}/rerun", Access::kContributor, rerun},
      {Method::kGet, runs + "/{run}/events", Access::kReader, events},
      {Method::kGet, runs + "/{run}/events/stream", Access::kReader, event_stream},
      {Method::kGet, "/api/v1/workspaces/{workspace}/run-diff", Access::kReader, diff},
  };
}

}  // namespace slipway::routes

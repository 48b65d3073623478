// Submitting, listing, looking at and ending runs.
#include <fmt/format.h>

#include "routes/request.h"
#include "routes/run_fields.h"
#include "routes/services.h"
#include "runs/deletion.h"
#include "runs/diff.h"
#include "runs/run_environment.h"
#include "runs/run_table.h"
#include "runs/streams.h"

namespace slipway::routes {
namespace {

using http::Access;
using http::Method;
using http::Request;
using http::Response;
using runs::Run;

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
                                                                 .rerun_of = std::nullopt,
                                                                 .parent = std::nullopt,
                                                                 .kind = runs::RunKind::kJob}));
  return submitted(services, result);
}

Result<Response> rerun(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run original, run_of(services, request));
  json::object tags;
  if (!request.body.empty()) {
    SLIPWAY_ASSIGN(const json::object body, body_of(request, "the request"));
    JsonFields fields(body, "the request");
    fields.optional("tags", tags);
    SLIPWAY_TRY(fields.finish());
  }
  SLIPWAY_ASSIGN(auto key, request_key(request, workspace_of(request).str()));
  key.body = Digest::of(fmt::format("rerun {}\n{}", original.id, request.body));  // however it was named
  SLIPWAY_ASSIGN(const auto more_tags, pairs_of(tags, "tag"));
  SLIPWAY_ASSIGN(const auto result,
                 services.submissions.rerun(original, std::move(key), request.caller.name, more_tags));
  return submitted(services, result);
}

// A page of runs, newest first.
Result<Response> run_page(Services& services, const WorkspaceName& workspace, runs::RunFilter filter) {
  const int64_t wanted = filter.limit++;  // one more tells whether there is a next page
  std::vector<Run> found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(found, runs::list_runs(reader, workspace, filter));
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

Result<bool> flag_of(const Request& request, std::string_view name) {
  const std::string text = request.query_value(name).value_or("false");
  if (text != "true" && text != "false")
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is true or false", name));
  return text == "true";
}

Result<Response> list(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(runs::RunFilter filter, filter_of(request));
  SLIPWAY_ASSIGN(filter.without_parent, flag_of(request, "without_parent"));
  return run_page(services, workspace_of(request), std::move(filter));
}

Result<Response> children(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(runs::RunFilter filter, filter_of(request));
  SLIPWAY_ASSIGN(filter.recursive, flag_of(request, "recursive"));
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  filter.parent = run.id;
  return run_page(services, run.workspace, std::move(filter));
}

Result<Response> show(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  return http::json_response(describe(services, run));
}

Result<Response> change(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the change"));
  json::object tags;
  json::object properties;
  std::optional<std::string> name;
  std::optional<std::string> description;
  JsonFields fields(body, "the change");
  fields.optional("tags", tags);
  fields.optional("properties", properties);
  fields.optional("display_name", name);
  fields.optional("description", description);
  SLIPWAY_TRY(fields.finish());
  SLIPWAY_ASSIGN(const TagChange tag_changes, tag_change(tags));
  SLIPWAY_ASSIGN(const auto new_properties, pairs_of(properties, "property"));
  if (name) SLIPWAY_TRY(check_display_name(*name));
  if (description) SLIPWAY_TRY(check_description(*description));
  SLIPWAY_ASSIGN(Run run, run_of(services, request));
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_TRY(runs::add_properties(writer, run, new_properties));
    SLIPWAY_TRY(runs::set_tags(writer, run, tag_changes.set));
    for (const std::string& key : tag_changes.remove) SLIPWAY_TRY(runs::remove_tag(writer, run, key));
    if (name) SLIPWAY_TRY(runs::set_display_name(writer, run, *name));
    if (description) SLIPWAY_TRY(runs::set_description(writer, run, *description));
    SLIPWAY_ASSIGN(run, runs::load_run(writer, run.workspace, run.id));
    return {};
  }));
  return http::json_response(describe(services, run));
}

Result<Response> remove(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(const bool family, flag_of(request, "recursive"));
  SLIPWAY_TRY(runs::delete_run(services.database, services.metrics, services.logs, run, family));
  services.housekeeping.wake();
  return http::empty_response();
}

Result<Response> cancel(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(Run run, run_of(services, request));
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(run, runs::load_run(writer, run.workspace, run.id));
    return services.orchestrator.transitions().cancel(writer, run,
                                                      fmt::format("canceled by {}", request.caller.name));
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
    for (const metrics::Summary& summary : summaries)
      if (summary.count > 0) last.emplace(summary.name, summary.last_value);
    snapshot::Manifest source;
    if (!run.job.snapshot.empty()) {
      SLIPWAY_ASSIGN(source, services.snapshots.load(run.workspace, run.job.snapshot));
    }
    sides.push_back(std::move(run));
    sources.push_back(std::move(source));
    metrics.push_back(std::move(last));
  }
  json::value environment;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(environment, runs::environment_changes(reader, sides[0], sides[1]));
    return {};
  }));
  return http::json_response(runs::diff_runs({sides[0], sources[0], metrics[0]},
                                             {sides[1], sources[1], metrics[1]}, std::move(environment)));
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
      {Method::kGet, runs + "/{run}/children", Access::kReader, children},
      {Method::kPost, runs + "/{run}/cancel", Access::kRun, cancel},
      {Method::kPost, runs + "/{run}/rerun", Access::kContributor, rerun},
      {Method::kGet, runs + "/{run}/events", Access::kReader, events},
      {Method::kGet, runs + "/{run}/events/stream", Access::kReader, event_stream},
      {Method::kGet, "/api/v1/workspaces/{workspace}/run-diff", Access::kReader, diff},
  };
}

}  // namespace slipway::routes

#include <fmt/format.h>

#include <thread>

#include "client/api.h"

namespace slipway::client {
namespace {

using http::Method;

constexpr std::chrono::milliseconds kPauseBetweenStreams{100};

Query query_of(const RunFilter& filter) {
  return {{"experiment", filter.experiment}, {"state", filter.state}, {"tag", filter.tag}};
}

Query query_of(const LogName& log) {
  Query query{{"name", log.name}, {"channel", log.channel}};
  if (log.attempt > 0) query.emplace("attempt", std::to_string(log.attempt));
  if (log.rank > 0) query.emplace("rank", std::to_string(log.rank));
  return query;
}

Result<Run> as_run(Result<json::object> answer) {
  if (!answer) return fail(std::move(answer).error());
  return run_from_json(std::move(*answer));
}

}  // namespace

Result<Run> Api::submit(const Job& job) {
  return as_run(requests_.create(connection().in_workspace("/runs"), to_json(job)));
}

Result<Run> Api::run(std::string_view id) {
  return as_run(requests_.get(run_path(id)));
}

Result<std::vector<Run>> Api::runs(const RunFilter& filter, size_t limit) {
  SLIPWAY_ASSIGN(json::array items,
                 requests_.list(connection().in_workspace("/runs"), query_of(filter), limit));
  std::vector<Run> runs;
  for (json::value& item : items) {
    if (!item.is_object())
      return fail(ErrorCode::kInternal, "the list of runs is not one of a Slipway server");
    SLIPWAY_ASSIGN(Run run, run_from_json(std::move(item.get_object())));
    runs.push_back(std::move(run));
  }
  return runs;
}

Result<Page> Api::runs_page(const RunFilter& filter, size_t limit, const std::string& cursor) {
  Query query = query_of(filter);
  query["limit"] = std::to_string(limit);
  query["cursor"] = cursor;
  return requests_.page(connection().in_workspace("/runs"), query);
}

Result<Run> Api::cancel(std::string_view id) {
  const json::object nothing;
  return as_run(requests_.call(Method::kPost, run_path(id, "/cancel"), &nothing));
}

Result<Run> Api::rerun(std::string_view id, const json::object& changes) {
  return as_run(requests_.create(run_path(id, "/rerun"), changes));
}

Result<Run> Api::update_run(std::string_view id, const json::object& changes) {
  return as_run(requests_.call(Method::kPatch, run_path(id), &changes));
}

Status Api::delete_run(std::string_view id) {
  return requests_.remove(run_path(id));
}

Result<json::object> Api::diff(std::string_view from, std::string_view to) {
  return requests_.get(connection().in_workspace("/run-diff") +
                       to_text(Query{{"from", std::string(from)}, {"to", std::string(to)}}));
}

Result<Run> Api::wait(std::string_view id, const std::function<void(const json::object&)>& on_event) {
  Follower follower(connection());
  std::optional<Error> error;
  std::string last_id;
  const auto take = [&](const http::Event& event) {
    if (!event.id.empty()) last_id = event.id;
    if (!on_event || event.data.empty()) return true;
    const auto document = parse_json_object(event.data, "an event of the run");
    if (document) {
      on_event(*document);
    } else {
      error = document.error();
    }
    return document.has_value();
  };
  while (true) {
    SLIPWAY_TRY(follower.follow(run_path(id, "/events/stream"), last_id, take));
    if (error) return fail(*error);
    SLIPWAY_ASSIGN(Run seen, run(id));
    if (seen.ended()) return seen;
    // A server that stops ends its streams; the run goes on.
    std::this_thread::sleep_for(kPauseBetweenStreams);
  }
}

Result<json::array> Api::events(std::string_view id, int64_t after) {
  Query query;
  if (after > 0) query.emplace("after", std::to_string(after));
  return requests_.list(run_path(id, "/events"), std::move(query));
}

Result<json::array> Api::logs(std::string_view id, int attempt) {
  Query query;
  if (attempt > 0) query.emplace("attempt", std::to_string(attempt));
  return requests_.list(run_path(id, "/logs"), std::move(query));
}

Status Api::read_log(std::string_view id, const LogName& log, const http::BodySink& sink) {
  http::Call call;
  call.target = run_path(id, "/logs/content") + to_text(query_of(log));
  call.sink = sink;
  SLIPWAY_TRY(requests_.stream(std::move(call)));
  return {};
}

Status Api::follow_log(std::string_view id, const LogName& log, uint64_t offset,
                       const std::function<bool(const LogPiece&)>& on_piece) {
  Follower follower(connection());
  return follower.follow_log(run_path(id, "/logs/stream") + to_text(query_of(log)), offset, on_piece);
}

Result<json::array> Api::metrics(std::string_view id) {
  return requests_.list(run_path(id, "/metrics"));
}

Result<json::array> Api::metric_points(std::string_view id, std::string_view name) {
  return requests_.list(run_path(id, "/metrics/points"), {{"name", std::string(name)}});
}

Status Api::log_metrics(std::string_view id, const json::array& points) {
  const json::object body{{"points", points}};
  SLIPWAY_TRY(requests_.call(Method::kPost, run_path(id, "/metrics"), &body));
  return {};
}

Result<json::array> Api::files(std::string_view id, std::string_view prefix) {
  return requests_.list(run_path(id, "/files"), {{"prefix", std::string(prefix)}});
}

Result<json::array> Api::resources(std::string_view id) {
  return requests_.list(run_path(id, "/resources"));
}

}  // namespace slipway::client

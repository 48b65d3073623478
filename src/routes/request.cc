#include "routes/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <climits>

#include "models/lineage.h"
#include "routes/services.h"
#include "runs/attempt_table.h"
#include "runs/job_data.h"
#include "runs/run_environment.h"
#include "runs/run_table.h"

namespace slipway::routes {
namespace {

Result<int64_t> whole_number(std::string_view text, std::string_view what) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} must be a whole number of at least 0", what));
  return number;
}

// Its data as far as the store can say.
void add_data(Services& services, const runs::Run& run, json::object& object) {
  object["inputs"] = json::array();
  object["outputs"] = json::array();
  if (run.job.inputs.empty() && run.job.outputs.empty()) return;
  (void)services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(json::object found, runs::describe_data(reader, run));
    for (auto& [key, value] : found) object[key] = std::move(value);
    return {};
  });
}

// What it runs with is an extra as well.
void add_environment(Services& services, const runs::Run& run, json::object& object) {
  json::value& environment = object["environment"];
  (void)services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(const auto found, runs::load_run_environment(reader, run));
    if (found) environment = runs::to_json(*found);
    return {};
  });
}

// And which models came of it and were given to it.
void add_models(Services& services, const runs::Run& run, json::object& object) {
  json::value& found = object["models"];
  (void)services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(found, models::models_of_run(reader, run.id));
    return {};
  });
}

}  // namespace

WorkspaceName workspace_of(const http::Request& request) {
  return WorkspaceName(request.param("workspace"));
}

Result<json::object> body_of(const http::Request& request, std::string_view what) {
  return parse_json_object(request.body, what);
}

Result<store::RequestKey> request_key(const http::Request& request, std::string scope) {
  store::RequestKey key{
      .scope = std::move(scope), .key = "", .body = Digest::of(request.path + "\n" + request.body)};
  if (const auto header = request.header("idempotency-key")) {
    const bool printable =
        std::all_of(header->begin(), header->end(), [](char c) { return c > 0x20 && c < 0x7f; });
    if (header->empty() || header->size() > 128 || !printable)
      return fail(ErrorCode::kInvalidArgument,
                  "an Idempotency-Key has 1 to 128 printable characters without blanks");
    key.key = *header;
  }
  return key;
}

Result<runs::Run> run_of(Services& services, const http::Request& request) {
  runs::Run run;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(const RunId id, runs::resolve_run(reader, workspace_of(request), request.param("run")));
    SLIPWAY_ASSIGN(run, runs::load_run(reader, workspace_of(request), id));
    return {};
  }));
  return run;
}

json::object describe(Services& services, const runs::Run& run) {
  std::vector<NodeId> nodes;
  if (runs::holds_nodes(run.state) || run.state == runs::RunState::kCompleted ||
      run.state == runs::RunState::kFailed) {
    // Which nodes it has is an extra: a run is shown without them when the store cannot say.
    (void)services.database.read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(const auto parts, runs::parts_of_attempt(reader, run.id, run.attempt));
      for (const runs::Part& part : parts) nodes.push_back(part.node);
      return {};
    });
  }
  json::object object =
      runs::to_json(run, services.clock.now(), services.orchestrator.why_waiting(run), nodes);
  add_data(services, run, object);
  add_environment(services, run, object);
  add_models(services, run, object);
  return object;
}

NodeId node_of(const http::Request& request) {
  return NodeId(request.param("node"));
}

Result<AttemptKey> attempt_of(const http::Request& request) {
  AttemptKey key{.run = RunId(request.param("run"))};
  SLIPWAY_ASSIGN(const int64_t attempt, whole_number(request.param("attempt"), "the attempt"));
  SLIPWAY_ASSIGN(const int64_t rank, whole_number(request.param("rank"), "the rank"));
  if (attempt > INT_MAX || rank > INT_MAX)
    return fail(ErrorCode::kInvalidArgument, "attempt and rank are small numbers");
  key.attempt = static_cast<int>(attempt);
  key.rank = static_cast<int>(rank);
  return key;
}

http::Response page(json::array items, std::optional<std::string> next_cursor) {
  json::object body{{"items", std::move(items)}};
  body.emplace("next_cursor", next_cursor ? json::value(*next_cursor) : json::value(nullptr));
  return http::json_response(body);
}

std::string encode_cursor(int64_t position) {
  return fmt::format("p{}", position);
}

Result<std::optional<int64_t>> cursor_of(const http::Request& request) {
  const auto text = request.query_value("cursor");
  if (!text) return std::optional<int64_t>();
  if (!text->starts_with('p')) return fail(ErrorCode::kInvalidArgument, "that is no cursor of this list");
  SLIPWAY_ASSIGN(const int64_t position, whole_number(std::string_view(*text).substr(1), "the cursor"));
  return std::optional(position);
}

Result<std::string> name_cursor_of(const http::Request& request) {
  const auto text = request.query_value("cursor");
  if (!text) return std::string();
  if (!check_name(*text, "cursor", 255))
    return fail(ErrorCode::kInvalidArgument, "that is no cursor of this list");
  return *text;
}

Result<int64_t> limit_of(const http::Request& request) {
  return request.query_int("limit", kDefaultPage, 1, kLargestPage);
}

Result<int64_t> position_of(const http::Request& request, std::string_view name) {
  if (const auto last = request.header("last-event-id")) return whole_number(*last, "Last-Event-ID");
  if (const auto text = request.query_value(name)) return whole_number(*text, name);
  return 0;
}

}  // namespace slipway::routes

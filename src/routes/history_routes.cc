// What clients do with runs that no node carries out: begin, add children, end. See docs/history.md.
#include <fmt/format.h>

#include "routes/request.h"
#include "routes/run_fields.h"
#include "routes/services.h"

namespace slipway::routes {
namespace {

using http::Access;
using http::Method;
using http::Request;
using http::Response;
using runs::Run;

constexpr size_t kMostChildrenAtOnce = 1000;
constexpr size_t kLongestReason = 16 << 10;
constexpr size_t kLongestErrorCode = 256;

// Takes from `fields` what every new interactive run has; checked by `checked`.
struct InteractiveFields {
  runs::InteractiveRun run;
  json::object tags;
  json::object properties;

  void read(JsonFields& fields) {
    fields.optional("display_name", run.display_name);
    fields.optional("description", run.description);
    fields.optional("tags", tags);
    fields.optional("properties", properties);
  }
  Result<runs::InteractiveRun> checked() {
    SLIPWAY_TRY(check_display_name(run.display_name));
    SLIPWAY_TRY(check_description(run.description));
    SLIPWAY_ASSIGN(run.tags, pairs_of(tags, "tag"));
    SLIPWAY_ASSIGN(run.properties, pairs_of(properties, "property"));
    return run;
  }
};

Result<GitState> git_of(const json::object& object) {
  GitState git;
  JsonFields fields(object, "the git state");
  fields.optional("commit", git.commit);
  fields.optional("branch", git.branch);
  fields.optional("remote", git.remote);
  fields.optional("dirty", git.dirty);
  SLIPWAY_TRY(fields.finish());
  for (const std::string* text : {&git.commit, &git.branch, &git.remote})
    SLIPWAY_TRY(check_display_name(*text));
  return git;
}

// A job begins its children for whoever submitted it.
std::string submitter_of(const Request& request, const Run& parent) {
  return request.caller.kind == http::CallerKind::kRun ? parent.submitted_by : request.caller.name;
}

Result<Response> begin(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the run"));
  runs::InteractiveOrder order;
  InteractiveFields wanted;
  json::object git;
  JsonFields fields(body, "the run");
  fields.optional("experiment", order.experiment);
  fields.optional("snapshot", order.snapshot);
  fields.optional("git", git);
  wanted.read(fields);
  SLIPWAY_TRY(fields.finish());
  SLIPWAY_TRY(check_name(order.experiment.str(), "experiment"));
  SLIPWAY_ASSIGN(runs::InteractiveRun run, wanted.checked());
  SLIPWAY_ASSIGN(order.git, git_of(git));
  order.runs.push_back(std::move(run));
  order.workspace = workspace_of(request);
  order.submitted_by = request.caller.name;
  SLIPWAY_ASSIGN(order.request, request_key(request, workspace_of(request).str()));
  SLIPWAY_ASSIGN(const runs::Begun begun, services.interactive.begin(order));
  return http::json_response(describe(services, begun.runs.front()), begun.repeated ? 200 : 201);
}

Result<Response> begin_children(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run parent, run_of(services, request));
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the children"));
  json::array children;
  JsonFields fields(body, "the children");
  fields.required("children", children);
  SLIPWAY_TRY(fields.finish());
  if (children.empty() || children.size() > kMostChildrenAtOnce)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("1 to {} children can be begun at once", kMostChildrenAtOnce));
  runs::InteractiveOrder order;
  for (const json::value& item : children) {
    if (!item.is_object()) return fail(ErrorCode::kInvalidArgument, "a child is an object");
    InteractiveFields wanted;
    JsonFields child_fields(item.get_object(), "a child");
    wanted.read(child_fields);
    SLIPWAY_TRY(child_fields.finish());
    SLIPWAY_ASSIGN(runs::InteractiveRun run, wanted.checked());
    order.runs.push_back(std::move(run));
  }
  order.workspace = parent.workspace;
  order.experiment = parent.job.experiment;
  order.parent = parent.id;
  order.submitted_by = submitter_of(request, parent);
  SLIPWAY_ASSIGN(order.request, request_key(request, parent.workspace.str()));
  SLIPWAY_ASSIGN(const runs::Begun begun, services.interactive.begin(order));
  json::array items;
  for (const Run& run : begun.runs) items.push_back(describe(services, run));
  return http::json_response(json::object{{"items", std::move(items)}}, begun.repeated ? 200 : 201);
}

Result<Response> submit_child(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run parent, run_of(services, request));
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the job"));
  SLIPWAY_ASSIGN(Job job, job_from_json(body));
  if (!body.contains("experiment")) job.experiment = parent.job.experiment;
  SLIPWAY_ASSIGN(auto key, request_key(request, parent.workspace.str()));
  SLIPWAY_ASSIGN(const auto result,
                 services.submissions.submit({.workspace = parent.workspace,
                                              .job = std::move(job),
                                              .request = std::move(key),
                                              .submitted_by = submitter_of(request, parent),
                                              .rerun_of = std::nullopt,
                                              .parent = parent.id}));
  return http::json_response(describe(services, result.run), result.repeated ? 200 : 201);
}

Result<Response> complete(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(const Run ended, services.interactive.complete(run, request.caller.name));
  return http::json_response(describe(services, ended));
}

Result<Response> give_up(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the failure"));
  std::string reason;
  std::string code;
  JsonFields fields(body, "the failure");
  fields.optional("reason", reason);
  fields.optional("code", code);
  SLIPWAY_TRY(fields.finish());
  if (reason.size() > kLongestReason || code.size() > kLongestErrorCode)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a reason has at most {} bytes and a code at most {}", kLongestReason,
                            kLongestErrorCode));
  SLIPWAY_ASSIGN(const Run run, run_of(services, request));
  SLIPWAY_ASSIGN(const Run ended, services.interactive.fail_run(run, reason, code));
  return http::json_response(describe(services, ended));
}

}  // namespace

std::vector<RouteRow> history_routes() {
  const std::string workspace = "/api/v1/workspaces/{workspace}";
  const std::string run = workspace + "/runs/{run}";
  return {
      {Method::kPost, workspace + "/interactive-runs", Access::kContributor, begin},
      {Method::kPost, run + "/children", Access::kRun, begin_children},
      {Method::kPost, run + "/children/jobs", Access::kRun, submit_child},
      {Method::kPost, run + "/complete", Access::kRun, complete},
      {Method::kPost, run + "/fail", Access::kRun, give_up},
  };
}

}  // namespace slipway::routes

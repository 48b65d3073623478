#include "client/api.h"

#include <fmt/format.h>

#include "http/router.h"

namespace slipway::client {

using http::Method;

bool Run::completed() const {
  return state == "Completed";
}
bool Run::ended() const {
  return completed() || state == "Failed" || state == "Canceled";
}

Result<Run> run_from_json(json::object document) {
  Run run;
  JsonFields fields(document, "the run");
  fields.required("id", run.id);
  fields.required("state", run.state);
  fields.optional("experiment", run.experiment);
  fields.optional("phase", run.phase);
  fields.optional("reason", run.reason);
  fields.optional("attempt", run.attempt);
  fields.optional("exit_code", run.exit_code);
  SLIPWAY_TRY(fields.finish_lenient());
  run.document = std::move(document);
  return run;
}

Api::Api(Connection connection, RetryPolicy policy) : requests_(std::move(connection), policy) {}

std::string Api::path(std::string_view collection, std::string_view name) const {
  return connection().in_workspace(fmt::format("/{}/{}", collection, http::percent_encode(name)));
}

std::string Api::run_path(std::string_view id, std::string_view below) const {
  return path("runs", id) + std::string(below);
}

Result<json::object> Api::server() {
  return requests_.get("/api/v1/server");
}
Result<json::object> Api::status() {
  return requests_.get("/api/v1/status");
}

Status Api::shutdown(bool cancel_runs, bool leave_runs) {
  const json::object body{{"cancel", cancel_runs}, {"leave", leave_runs}};
  SLIPWAY_TRY(requests_.call(Method::kPost, "/api/v1/shutdown", &body));
  return {};
}

Result<json::array> Api::workspaces() {
  return requests_.list("/api/v1/workspaces");
}

Result<json::object> Api::workspace(std::string_view name) {
  return requests_.get("/api/v1/workspaces/" + http::percent_encode(name));
}

Result<json::object> Api::create_workspace(std::string_view name, std::string_view description) {
  return requests_.create("/api/v1/workspaces", {{"name", name}, {"description", description}});
}

Status Api::delete_workspace(std::string_view name) {
  return requests_.remove("/api/v1/workspaces/" + http::percent_encode(name));
}

Result<json::array> Api::experiments() {
  return requests_.list(connection().in_workspace("/experiments"));
}
Result<json::object> Api::experiment(std::string_view name) {
  return requests_.get(path("experiments", name));
}

Result<json::array> Api::tokens() {
  return requests_.list("/api/v1/tokens");
}

Result<json::object> Api::create_token(const TokenRequest& request) {
  json::object body{{"name", request.name}, {"role", request.role}};
  if (!request.workspace.empty()) body.emplace("workspace", request.workspace);
  if (request.expires_seconds > 0) body.emplace("expires_seconds", request.expires_seconds);
  return requests_.create("/api/v1/tokens", body);
}

Status Api::delete_token(std::string_view id) {
  return requests_.remove("/api/v1/tokens/" + http::percent_encode(id));
}

Result<json::array> Api::clusters() {
  return requests_.list(connection().in_workspace("/compute"));
}
Result<json::object> Api::cluster(std::string_view name) {
  return requests_.get(path("compute", name));
}

Result<json::object> Api::create_cluster(const json::object& cluster) {
  return requests_.create(connection().in_workspace("/compute"), cluster);
}

Result<json::object> Api::update_cluster(std::string_view name, const json::object& changes) {
  return requests_.call(Method::kPatch, path("compute", name), &changes);
}

Status Api::delete_cluster(std::string_view name) {
  return requests_.remove(path("compute", name));
}

Result<json::array> Api::nodes(std::string_view cluster) {
  return requests_.list(path("compute", cluster) + "/nodes");
}

}  // namespace slipway::client

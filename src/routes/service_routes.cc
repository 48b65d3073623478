// Services: deploying, changing and looking at them. Requests to a service itself do not come here: the front
// door takes them (services/front_door.h).
#include <fmt/format.h>

#include "routes/request.h"
#include "routes/services.h"
#include "services/log_stream.h"
#include "services/service_table.h"

namespace slipway::routes {
namespace {

using http::Access;
using http::Method;
using http::Request;
using http::Response;
using services::Service;

constexpr int64_t kLogBytes = 1 << 20;

std::string name_of(const Request& request) {
  return request.param("service");
}

Result<Response> described(Services& services, const Service& service, int status = 200) {
  SLIPWAY_ASSIGN(json::object document, services.deployments.describe(service));
  return http::json_response(std::move(document), status);
}

Result<Response> list(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  SLIPWAY_ASSIGN(const std::string after, name_cursor_of(request));
  std::vector<Service> found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(found, services::list_services(reader, workspace_of(request), after, limit));
    return {};
  }));
  json::array items;
  for (const Service& service : found) {
    SLIPWAY_ASSIGN(json::object document, services.deployments.describe(service));
    items.push_back(std::move(document));
  }
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) == limit) next = found.back().name;
  return page(std::move(items), next);
}

Result<Response> deploy(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the service"));
  SLIPWAY_ASSIGN(const auto key, request_key(request, workspace_of(request).str()));
  SLIPWAY_ASSIGN(const auto deployed,
                 services.deployments.deploy(workspace_of(request), body, key, request.caller.name));
  return described(services, deployed.service, deployed.created ? 201 : 200);
}

Result<Response> show(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Service service, services.deployments.find(workspace_of(request), name_of(request)));
  return described(services, service);
}

Result<Response> change(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the change"));
  SLIPWAY_ASSIGN(const Service service, services.deployments.change(workspace_of(request), name_of(request),
                                                                    body, request.caller.name));
  return described(services, service);
}

Result<Response> remove(Services& services, const Request& request) {
  SLIPWAY_TRY(services.deployments.remove(workspace_of(request), name_of(request), request.caller.name));
  return http::empty_response();
}

Response shown_keys(const services::Deployments::Keys& keys) {
  return http::json_response(
      json::object{{"primary", keys.primary.reveal()}, {"secondary", keys.secondary.reveal()}});
}

Result<Response> keys(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const auto found, services.deployments.keys(workspace_of(request), name_of(request)));
  return shown_keys(found);
}

Result<Response> renew_key(Services& services, const Request& request) {
  const std::string& which = request.param("which");
  if (which != "primary" && which != "secondary")
    return fail(ErrorCode::kNotFound, fmt::format("a service has no key '{}'", which),
                "there are primary and secondary");
  SLIPWAY_ASSIGN(const auto found,
                 services.deployments.renew_key(
                     workspace_of(request), name_of(request),
                     which == "primary" ? services::WhichKey::kPrimary : services::WhichKey::kSecondary,
                     request.caller.name));
  return shown_keys(found);
}

Result<Response> token(Services& services, const Request& request) {
  int64_t seconds = 3600;
  if (!request.body.empty()) {
    SLIPWAY_ASSIGN(const json::object body, body_of(request, "the request"));
    JsonFields fields(body, "the request");
    fields.optional("expires_seconds", seconds);
    SLIPWAY_TRY(fields.finish());
  }
  if (seconds < 1 || seconds > 86'400)
    return fail(ErrorCode::kInvalidArgument, "a token lasts from a second to a day",
                "give expires_seconds between 1 and 86400");
  SLIPWAY_ASSIGN(const auto made, services.deployments.token(workspace_of(request), name_of(request),
                                                             std::chrono::seconds(seconds)));
  return http::json_response(
      json::object{{"token", made.text.reveal()}, {"expires_at", to_iso8601(made.expires)}});
}

Result<Response> events(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Service service, services.deployments.find(workspace_of(request), name_of(request)));
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  SLIPWAY_ASSIGN(const auto cursor, cursor_of(request));
  std::vector<services::ServiceEvent> found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(found, services::list_events(reader, service.seq, cursor.value_or(0), limit));
    return {};
  }));
  json::array items;
  for (const services::ServiceEvent& event : found) items.push_back(services::to_json(event));
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) == limit) next = encode_cursor(found.back().seq);
  return page(std::move(items), next);
}

Result<Response> logs(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Service service, services.deployments.find(workspace_of(request), name_of(request)));
  SLIPWAY_ASSIGN(const int64_t bytes, request.query_int("bytes", kLogBytes, 0, 16 << 20));
  SLIPWAY_ASSIGN(std::string text,
                 services::all_logs(services.database, services.logs, service, static_cast<uint64_t>(bytes)));
  return http::text_response(std::move(text));
}

Result<Response> follow_logs(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const Service service, services.deployments.find(workspace_of(request), name_of(request)));
  const std::string position =
      request.header("last-event-id").value_or(request.query_value("after").value_or(""));
  return http::event_response(services::log_stream(services.database, services.logs, service, position));
}

}  // namespace

std::vector<RouteRow> service_routes() {
  const std::string all = "/api/v1/workspaces/{workspace}/services";
  const std::string one = all + "/{service}";
  return {
      {Method::kGet, all, Access::kReader, list},
      {Method::kPost, all, Access::kContributor, deploy},
      {Method::kGet, one, Access::kReader, show},
      {Method::kPatch, one, Access::kContributor, change},
      {Method::kDelete, one, Access::kContributor, remove},
      {Method::kGet, one + "/events", Access::kReader, events},
      {Method::kGet, one + "/logs", Access::kReader, logs},
      {Method::kGet, one + "/logs/stream", Access::kReader, follow_logs},
      {Method::kGet, one + "/keys", Access::kContributor, keys},
      {Method::kPost, one + "/keys/{which}", Access::kContributor, renew_key},
      {Method::kPost, one + "/token", Access::kContributor, token},
  };
}

}  // namespace slipway::routes

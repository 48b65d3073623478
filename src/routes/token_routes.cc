// Tokens of users. A token's text is in the answer that creates it and nowhere else.
#include <fmt/format.h>

#include "routes/request.h"
#include "routes/services.h"
#include "runs/workspace.h"

namespace slipway::routes {
namespace {

using http::Access;
using http::Method;
using http::Request;
using http::Response;

json::value time_or_null(const std::optional<Timestamp>& time) {
  if (!time) return nullptr;
  return json::string(to_iso8601(*time));
}

json::object describe(const access::TokenInfo& token) {
  return {{"id", token.id.str()},
          {"name", token.name},
          {"role", access::to_text(token.role)},
          {"workspace", token.workspace ? json::value(token.workspace->str()) : json::value(nullptr)},
          {"created_at", to_iso8601(token.created_at)},
          {"expires_at", time_or_null(token.expires_at)},
          {"revoked_at", time_or_null(token.revoked_at)}};
}

Result<access::UserTokenOrder> order_of(const Request& request, Timestamp now) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the token"));
  access::UserTokenOrder order;
  std::string role;
  std::optional<int64_t> expires_seconds;
  JsonFields fields(body, "the token");
  fields.required("name", order.name);
  fields.required("role", role);
  fields.optional("workspace", order.workspace);
  fields.optional("expires_seconds", expires_seconds);
  SLIPWAY_TRY(fields.finish());
  SLIPWAY_ASSIGN(order.role, access::parse_role(role));
  if (expires_seconds) {
    constexpr int64_t kTenYears = 10LL * 366 * 86400;
    if (*expires_seconds < 1 || *expires_seconds > kTenYears)
      return fail(ErrorCode::kInvalidArgument, "a token lives from one second to ten years");
    order.expires_at = Timestamp{now.micros + *expires_seconds * 1'000'000};
  }
  return order;
}

Result<Response> create(Services& services, const Request& request) {
  const Timestamp now = services.clock.now();
  SLIPWAY_ASSIGN(const auto order, order_of(request, now));
  SLIPWAY_ASSIGN(const auto key, request_key(request, ""));
  access::NewToken token;
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) -> Status {
    SLIPWAY_ASSIGN(const auto made, store::find_made(writer, key));
    if (made)
      return fail(ErrorCode::kConflict,
                  fmt::format("this request made token {} already; its text was shown then", *made),
                  fmt::format("revoke it and create another: slipway token delete {}", *made));
    if (order.workspace) SLIPWAY_TRY(runs::load_workspace(writer, *order.workspace));
    SLIPWAY_ASSIGN(token, access::create_user_token(writer, order, now));
    return store::remember_made(writer, key, token.id.str(), now);
  }));
  access::TokenInfo info;
  info.id = token.id;
  info.name = order.name;
  info.role = order.role;
  info.workspace = order.workspace;
  info.created_at = now;
  info.expires_at = order.expires_at;
  json::object answer = describe(info);
  answer.emplace("token", token.text.reveal());
  return http::json_response(answer, 201);
}

Result<Response> list(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const int64_t limit, limit_of(request));
  SLIPWAY_ASSIGN(const std::string after, name_cursor_of(request));
  std::vector<access::TokenInfo> found;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(found, access::list_tokens(reader, after, limit));
    return {};
  }));
  json::array items;
  for (const access::TokenInfo& token : found) items.push_back(describe(token));
  std::optional<std::string> next;
  if (static_cast<int64_t>(found.size()) == limit) next = found.back().id.str();
  return page(std::move(items), next);
}

Result<Response> revoke(Services& services, const Request& request) {
  SLIPWAY_TRY(services.database.write([&](store::Writer& writer) {
    return access::revoke_token(writer, TokenId(request.param("token")), services.clock.now());
  }));
  return http::empty_response();
}

}  // namespace

std::vector<RouteRow> token_routes() {
  return {
      {Method::kGet, "/api/v1/tokens", Access::kAdmin, list},
      {Method::kPost, "/api/v1/tokens", Access::kAdmin, create},
      {Method::kDelete, "/api/v1/tokens/{token}", Access::kAdmin, revoke},
  };
}

}  // namespace slipway::routes

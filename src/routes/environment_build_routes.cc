// The environments that are built on the server's own machine; the agents there share them.
#include <filesystem>

#include "environments/build_store.h"
#include "routes/request.h"
#include "routes/services.h"

namespace slipway::routes {
namespace {

using environments::BuildInfo;
using environments::BuildStore;
using http::Access;
using http::Method;
using http::Request;
using http::Response;

BuildStore builds_of(const Services& services) {
  return BuildStore(std::filesystem::path(services.home) / "environments");
}

json::object to_json(const BuildInfo& build) {
  return {{"id", build.record.id},
          {"key", build.record.key},
          {"builder", build.record.builder},
          {"python", build.record.python},
          {"lock_digest", build.record.lock_digest},
          {"seconds", build.record.seconds},
          {"created_at", to_iso8601(build.record.created_at)},
          {"used_at", to_iso8601(build.used_at)},
          {"bytes", build.bytes},
          {"in_use", build.in_use}};
}

Result<Response> list(Services& services, const Request&) {
  SLIPWAY_ASSIGN(const auto builds, builds_of(services).list());
  json::array items;
  for (const BuildInfo& build : builds) items.push_back(to_json(build));
  return page(std::move(items));
}

Result<Response> prune(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the request"));
  uint64_t keep_bytes = 0;
  JsonFields fields(body, "the request");
  fields.optional("keep_bytes", keep_bytes);
  SLIPWAY_TRY(fields.finish());
  SLIPWAY_ASSIGN(const environments::Pruned pruned, builds_of(services).prune(keep_bytes));
  return http::json_response(json::object{{"builds", slipway::to_json(pruned.builds)},
                                          {"freed_bytes", pruned.freed_bytes},
                                          {"left_bytes", pruned.left_bytes}});
}

}  // namespace

std::vector<RouteRow> environment_build_routes() {
  const std::string builds = "/api/v1/environment-builds";
  return {
      {Method::kGet, builds, Access::kAdmin, list},
      {Method::kPost, builds + "/prune", Access::kAdmin, prune},
  };
}

}  // namespace slipway::routes

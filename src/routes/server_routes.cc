// The server itself: health, version, status, shutting down.
#include <fmt/format.h>
#include <sys/statvfs.h>

#include "base/file.h"
#include "routes/request.h"
#include "routes/services.h"
#include "runs/run_table.h"

namespace slipway::routes {
namespace {

using http::Access;
using http::Method;
using http::Request;
using http::Response;

Result<Response> health(Services& services, const Request&) {
  std::string why;
  if (services.database.writable(&why)) return http::json_response(json::object{{"status", "ok"}});
  return http::json_response(json::object{{"status", "degraded"}, {"why", why}}, 503);
}

Result<Response> server(Services& services, const Request&) {
  return http::json_response(json::object{{"name", "slipway"},
                                          {"version", SLIPWAY_VERSION},
                                          {"api", "v1"},
                                          {"auth", services.require_token ? "token" : "none"}});
}

uint64_t resident_bytes() {
  const auto text = read_file("/proc/self/statm", 4096);
  if (!text) return 0;
  const size_t blank = text->find(' ');
  if (blank == std::string::npos) return 0;
  return std::strtoull(text->c_str() + blank, nullptr, 10) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

Result<Response> status(Services& services, const Request&) {
  std::map<std::string, int64_t> counts;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(counts, runs::count_by_state(reader));
    return {};
  }));
  json::object run_counts;
  for (const auto& [state, count] : counts) run_counts.emplace(state, count);
  const compute::NodeCounts nodes = services.nodes.counts_all();
  struct statvfs disk{};
  const bool have_disk = ::statvfs(services.home.c_str(), &disk) == 0;
  std::string why;
  const bool writable = services.database.writable(&why);
  const double uptime = static_cast<double>(services.clock.now().micros - services.started_at.micros) / 1e6;
  return http::json_response(json::object{
      {"version", SLIPWAY_VERSION},
      {"uptime_seconds", uptime},
      {"runs", std::move(run_counts)},
      {"nodes", json::object{{"starting", nodes.starting},
                             {"idle", nodes.idle},
                             {"busy", nodes.busy},
                             {"draining", nodes.draining},
                             {"lost", nodes.lost}}},
      {"storage",
       json::object{{"free_bytes", have_disk ? static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize : 0},
                    {"total_bytes", have_disk ? static_cast<uint64_t>(disk.f_blocks) * disk.f_frsize : 0}}},
      {"memory_bytes", resident_bytes()},
      {"writable", writable},
      {"why_not_writable", why},
  });
}

Result<Response> shut_down(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the request"));
  bool cancel = false;
  bool leave = false;
  JsonFields fields(body, "the request");
  fields.optional("cancel", cancel);
  fields.optional("leave", leave);
  SLIPWAY_TRY(fields.finish());
  int64_t active = 0;
  SLIPWAY_TRY(services.database.read([&](store::Reader& reader) {
    return runs::for_each_active(reader, [&](const runs::Run& run) {
      // What Slipway starts itself it also ends, and starts again.
      const bool users = run.type == runs::RunType::kJob && run.kind == runs::RunKind::kJob;
      const bool on_nodes = users && runs::holds_nodes(run.state);
      active += on_nodes ? 1 : 0;
    });
  }));
  if (active > 0 && !cancel && !leave)
    return fail(ErrorCode::kConflict,
                fmt::format("{} {} active", active, active == 1 ? "run is" : "runs are"),
                "slipway down --cancel ends them first; --leave lets them run on: the next `slipway up` "
                "picks them up");
  services.shut_down(cancel, leave);
  return http::json_response(json::object{}, 202);
}

}  // namespace

std::vector<RouteRow> server_routes() {
  return {
      {Method::kGet, "/health", Access::kPublic, health},
      {Method::kGet, "/api/v1/server", Access::kPublic, server},
      {Method::kGet, "/api/v1/status", Access::kAdmin, status},
      {Method::kPost, "/api/v1/shutdown", Access::kAdmin, shut_down},
  };
}

std::vector<RouteRow> all_routes() {
  std::vector<RouteRow> all;
  for (const auto& group : {server_routes(), workspace_routes(), token_routes(), artifact_routes(),
                            run_routes(), run_data_routes(), history_routes(), environment_routes(),
                            environment_build_routes(), compute_routes(), node_routes(), node_data_routes(),
                            datastore_routes(), data_routes(), model_routes(), service_routes()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

void add_all_routes(http::Router& router, Services& services) {
  for (const RouteRow& row : all_routes())
    router.add(http::Route(
        row.method, row.pattern, row.access,
        [&services, handler = row.handler](const Request& request) { return handler(services, request); },
        row.body, row.body_limit));
}

}  // namespace slipway::routes

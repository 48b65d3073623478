// What agents call (docs/node-protocol.md). Every one may be repeated.
#include <fmt/format.h>

#include "routes/request.h"
#include "routes/services.h"
#include "runs/streams.h"

namespace slipway::routes {
namespace {

using http::Access;
using http::BodyMode;
using http::Method;
using http::Request;
using http::Response;

constexpr uint64_t kLargestJournalBatch = 32 << 20;
constexpr uint64_t kLargestFileList = 64 << 20;
constexpr uint64_t kLargestLock = 8 << 20;
constexpr int64_t kLargestGpuIndex = 4096;

Result<std::vector<AttemptKey>> held_attempts(const json::array& items) {
  std::vector<AttemptKey> held;
  for (const json::value& item : items) {
    if (!item.is_object()) return fail(ErrorCode::kInvalidArgument, "an attempt is an object");
    SLIPWAY_ASSIGN(auto key, attempt_key_from_json(item.get_object()));
    held.push_back(std::move(key));
  }
  return held;
}

Result<Response> enrol(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the registration"));
  json::object capacity_fields;
  json::array attempts;
  json::array gpus;
  std::string address;
  std::string version;
  int pid = 0;
  JsonFields fields(body, "the registration");
  fields.required("capacity", capacity_fields);
  fields.optional("address", address);
  fields.optional("version", version);
  fields.optional("pid", pid);
  fields.optional("attempts", attempts);
  fields.optional("gpu_indices", gpus);
  SLIPWAY_TRY(fields.finish_lenient());
  std::vector<int> gpu_indices;
  for (const json::value& index : gpus) {
    if (!index.is_int64() || index.get_int64() < 0 || index.get_int64() > kLargestGpuIndex)
      return fail(ErrorCode::kInvalidArgument, "a GPU's index is a small number");
    gpu_indices.push_back(static_cast<int>(index.get_int64()));
  }
  SLIPWAY_ASSIGN(const NodeCapacity capacity, node_capacity_from_json(capacity_fields));
  SLIPWAY_TRY(services.orchestrator.node_registered(node_of(request), capacity, address, pid, gpu_indices));
  const auto info = services.nodes.find(node_of(request));
  const double heartbeat = static_cast<double>(services.orchestrator.times().heartbeat.count()) / 1e6;
  json::object answer{{"heartbeat_seconds", heartbeat}};
  if (info) {
    answer.emplace("workspace", info->record.cluster.workspace.str());
    answer.emplace("cluster", info->record.cluster.name.str());
  }
  return http::json_response(answer);
}

// An agent that listens is alive: after a restart of the server its node takes work at once, not only with
// the next heartbeat.
Result<Response> orders(Services& services, const Request& request) {
  SLIPWAY_TRY(services.orchestrator.node_heard_from(node_of(request)));
  return http::event_response(runs::order_stream(services.database, services.nodes, node_of(request)));
}

Result<Response> heartbeat(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the heartbeat"));
  json::array attempts;
  JsonFields fields(body, "the heartbeat");
  fields.required("attempts", attempts);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_ASSIGN(const auto held, held_attempts(attempts));
  const NodeId node = node_of(request);
  SLIPWAY_TRY(services.orchestrator.node_heard_from(node));
  SLIPWAY_TRY(services.orchestrator.attempts_missing(node, held));
  SLIPWAY_ASSIGN(const auto unwanted, services.attempts.not_wanted(node, held));
  json::array kill;
  for (const AttemptKey& key : unwanted) kill.push_back(to_json(key));
  const auto info = services.nodes.find(node);
  const bool drain = info && info->state == compute::NodeState::kDraining;
  return http::json_response(json::object{{"kill", std::move(kill)}, {"drain", drain}});
}

Result<Response> claim(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const AttemptKey key, attempt_of(request));
  json::object body;
  if (!request.body.empty()) {
    SLIPWAY_ASSIGN(body, body_of(request, "the claim"));
  }
  std::string platform;
  JsonFields fields(body, "the claim");
  fields.optional("platform", platform);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_ASSIGN(const AttemptOrder order, services.attempts.claim(node_of(request), key, platform));
  return http::json_response(to_json(order));
}

Result<Response> journal(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const AttemptKey key, attempt_of(request));
  SLIPWAY_ASSIGN(const int64_t offset, request.query_int("offset", 0, 0, INT64_MAX));
  SLIPWAY_ASSIGN(
      const uint64_t acked,
      services.attempts.take_journal(node_of(request), key, static_cast<uint64_t>(offset), request.body));
  return http::json_response(json::object{{"acked", acked}});
}

Result<Response> journal_position(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const AttemptKey key, attempt_of(request));
  SLIPWAY_ASSIGN(const uint64_t acked, services.attempts.journal_offset(node_of(request), key));
  return http::json_response(json::object{{"acked", acked}});
}

Result<Response> files(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const AttemptKey key, attempt_of(request));
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the list of files"));
  json::array file_list;
  json::array skipped_list;
  JsonFields fields(body, "the list of files");
  fields.required("files", file_list);
  fields.optional("skipped", skipped_list);
  SLIPWAY_TRY(fields.finish_lenient());
  std::vector<OutputFile> files;
  for (const json::value& item : file_list) {
    if (!item.is_object()) return fail(ErrorCode::kInvalidArgument, "a file is an object");
    SLIPWAY_ASSIGN(auto file, output_file_from_json(item.get_object()));
    files.push_back(std::move(file));
  }
  std::vector<runs::SkippedOutput> skipped;
  for (const json::value& item : skipped_list) {
    if (!item.is_object()) return fail(ErrorCode::kInvalidArgument, "a skipped file is an object");
    runs::SkippedOutput skip;
    JsonFields skip_fields(item.get_object(), "a skipped file");
    skip_fields.required("path", skip.path);
    skip_fields.required("why", skip.why);
    SLIPWAY_TRY(skip_fields.finish_lenient());
    skipped.push_back(std::move(skip));
  }
  SLIPWAY_TRY(services.attempts.take_files(node_of(request), key, files, skipped));
  return http::json_response(json::object{});
}

Result<Response> environment_lock(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const AttemptKey key, attempt_of(request));
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the lock"));
  SLIPWAY_ASSIGN(const environments::StoredLock lock, environments::lock_from_json(body));
  SLIPWAY_ASSIGN(const environments::StoredLock current,
                 services.attempts.take_lock(node_of(request), key, lock));
  return http::json_response(environments::to_json(current));
}

Result<Response> environment(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const AttemptKey key, attempt_of(request));
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the report on the environment"));
  SLIPWAY_TRY(services.attempts.take_environment(node_of(request), key, body));
  return http::json_response(json::object{});
}

Result<Response> rendezvous(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const AttemptKey key, attempt_of(request));
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the offer"));
  SLIPWAY_ASSIGN(const NodeOffer offer, node_offer_from_json(body));
  SLIPWAY_ASSIGN(const Rendezvous answer, services.attempts.take_offer(node_of(request), key, offer));
  return http::json_response(to_json(answer));
}

Result<Response> failed(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const AttemptKey key, attempt_of(request));
  SLIPWAY_ASSIGN(const json::object body, body_of(request, "the failure"));
  std::string reason;
  bool ending = false;
  JsonFields fields(body, "the failure");
  fields.required("reason", reason);
  fields.optional("ending", ending);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_TRY(services.attempts.preparation_failed(node_of(request), key, reason, ending));
  return http::json_response(json::object{});
}

Result<Response> finished(Services& services, const Request& request) {
  SLIPWAY_ASSIGN(const AttemptKey key, attempt_of(request));
  json::object body;
  if (!request.body.empty()) {
    SLIPWAY_ASSIGN(body, body_of(request, "the end of the attempt"));
  }
  bool ending = false;
  std::string lost;
  JsonFields fields(body, "the end of the attempt");
  fields.optional("ending", ending);
  fields.optional("lost", lost);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_TRY(services.attempts.finished(node_of(request), key, ending, lost));
  return http::json_response(json::object{});
}

}  // namespace

std::vector<RouteRow> node_routes() {
  const std::string node = "/api/v1/nodes/{node}";
  const std::string attempt = node + "/attempts/{run}/{attempt}/{rank}";
  return {
      {Method::kPost, node + "/register", Access::kNode, enrol},
      {Method::kGet, node + "/orders", Access::kNode, orders},
      {Method::kPost, node + "/heartbeat", Access::kNode, heartbeat},
      {Method::kPost, attempt + "/claim", Access::kNode, claim},
      {Method::kGet, attempt + "/journal", Access::kNode, journal_position},
      {Method::kPost, attempt + "/journal", Access::kNode, journal, BodyMode::kBuffered,
       kLargestJournalBatch},
      {Method::kPost, attempt + "/files", Access::kNode, files, BodyMode::kBuffered, kLargestFileList},
      {Method::kPost, attempt + "/environment/lock", Access::kNode, environment_lock, BodyMode::kBuffered,
       kLargestLock},
      {Method::kPost, attempt + "/environment", Access::kNode, environment},
      {Method::kPost, attempt + "/rendezvous", Access::kNode, rendezvous},
      {Method::kPost, attempt + "/failed", Access::kNode, failed},
      {Method::kPost, attempt + "/finished", Access::kNode, finished},
  };
}

}  // namespace slipway::routes

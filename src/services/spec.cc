#include "services/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/digest.h"
#include "protocol/model.h"

namespace slipway::services {
namespace {

constexpr int kMostReplicas = 100;
constexpr double kLongestTimeout = 3600;
constexpr size_t kLongestDescription = 4096;

json::value seconds(Duration time) {
  return json_number(static_cast<double>(time.count()) / 1e6);
}

Status check_between(std::string_view what, double value, double least, double most) {
  if (value >= least && value <= most) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is {:g}; it can be from {:g} to {:g}", what, value, least, most));
}

Status check_entry(std::string_view entry) {
  const std::filesystem::path path(entry);
  const bool climbs = std::ranges::any_of(path, [](const auto& part) { return part == ".."; });
  if (path.is_absolute() || climbs || entry.contains('\0') || !entry.ends_with(".py"))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the entry script '{}' is not a Python file within its source folder", entry),
                "name it from there, for example score.py");
  return {};
}

Status read_scaling(JsonFields& fields, Scaling& scaling) {
  json::object replicas;
  fields.optional("replicas", replicas);
  double down_after = static_cast<double>(scaling.down_after.count()) / 1e6;
  fields.optional("target_utilization", scaling.target_utilization);
  fields.optional("max_concurrent_requests", scaling.max_concurrent_requests);
  fields.optional("scale_down_seconds", down_after);
  JsonFields bounds(replicas, "the number of replicas");
  bounds.optional("min", scaling.min);
  bounds.optional("max", scaling.max);
  SLIPWAY_TRY(bounds.finish());
  SLIPWAY_TRY(check_between("the least number of replicas", scaling.min, 1, kMostReplicas));
  SLIPWAY_TRY(check_between("the greatest number of replicas", scaling.max, 1, kMostReplicas));
  if (scaling.min > scaling.max)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("at least {} replicas and at most {} cannot be", scaling.min, scaling.max),
                "give the smaller number first: --replicas 1..4");
  SLIPWAY_TRY(check_between("the target utilization", scaling.target_utilization, 1, 100));
  SLIPWAY_TRY(check_between("the number of requests at once", scaling.max_concurrent_requests, 1, 10'000));
  SLIPWAY_TRY(check_between("the time of less load, in seconds,", down_after, 0, 86'400));
  scaling.down_after = Duration(static_cast<int64_t>(down_after * 1e6));
  return {};
}

Status check_resources(const Resources& resources) {
  SLIPWAY_TRY(check_between("the share of CPUs of a replica", resources.cpus, 0.01, 1024));
  return check_between("the memory of a replica, in MiB,",
                       static_cast<double>(resources.memory_bytes) / (1 << 20), 32, 16 << 20);
}

Status check_variables(const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables)
    if (name.empty() || name.contains('=') || name.contains('\0') || value.contains('\0') ||
        name.starts_with("SLIPWAY_"))
      return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' cannot be a variable of a service", name));
  return {};
}

Status read_replica(JsonFields& fields, ReplicaSpec& replica, bool& resources_named) {
  double timeout = static_cast<double>(replica.timeout.count()) / 1e6;
  std::optional<double> cpus;
  std::optional<uint64_t> memory;
  std::optional<int> gpus;
  fields.optional("models", replica.models);
  fields.optional("entry", replica.entry);
  fields.optional("snapshot", replica.snapshot);
  fields.optional("environment", replica.environment);
  fields.optional("environment_chosen", replica.environment_chosen);
  fields.optional("compute", replica.compute);
  fields.optional("cpus", cpus);
  fields.optional("memory_bytes", memory);
  fields.optional("gpus", gpus);
  fields.optional("variables", replica.variables);
  fields.optional("timeout_seconds", timeout);
  fields.optional("workers", replica.workers);
  resources_named = resources_named || cpus || memory || gpus;
  if (cpus) replica.resources.cpus = *cpus;
  if (memory) replica.resources.memory_bytes = *memory;
  if (gpus) replica.resources.gpus = *gpus;
  replica.timeout = Duration(static_cast<int64_t>(std::clamp(timeout, 0.0, kLongestTimeout * 2) * 1e6));
  return check_between("the time of a request, in seconds,", timeout, 0.1, kLongestTimeout);
}

Status check_replica(const ReplicaSpec& replica) {
  SLIPWAY_TRY(check_job_models(replica.models));
  if (!replica.entry.empty()) SLIPWAY_TRY(check_entry(replica.entry));
  if (!replica.snapshot.empty()) SLIPWAY_TRY(Digest::parse(replica.snapshot));
  if (replica.entry.empty() != replica.snapshot.empty())
    return fail(ErrorCode::kInvalidArgument,
                "an entry script needs the folder it is in, and the other way round",
                "give both: --entry score.py --source DIR");
  SLIPWAY_TRY(check_name(replica.compute.str(), "cluster"));
  SLIPWAY_TRY(check_resources(replica.resources));
  SLIPWAY_TRY(check_variables(replica.variables));
  return check_between("the number of workers", replica.workers, 1, 64);
}

}  // namespace

std::string_view to_text(Auth auth) {
  switch (auth) {
    case Auth::kKey: return "key";
    case Auth::kToken: return "token";
    case Auth::kNone: return "none";
  }
  return "";
}

Result<Auth> auth_from_text(std::string_view text) {
  for (const Auth auth : {Auth::kKey, Auth::kToken, Auth::kNone})
    if (to_text(auth) == text) return auth;
  return fail(ErrorCode::kInvalidArgument, fmt::format("a service cannot ask for '{}'", text),
              "auth is key, token or none");
}

Status check_service_name(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const bool good =
      name.size() >= 3 && name.size() <= 32 && lower(name.front()) &&
      std::ranges::all_of(name, [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '-'; });
  if (good) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' cannot be the name of a service", name.substr(0, 64)),
              "give 3 to 32 lower-case letters, digits and '-', a letter first");
}

Status apply(const json::object& object, ServiceSpec& spec) {
  std::optional<std::string> auth;
  JsonFields fields(object, "the service");
  fields.ignore("name");
  fields.ignore("overwrite");
  fields.optional("description", spec.description);
  fields.optional("tags", spec.tags);
  fields.optional("auth", auth);
  SLIPWAY_TRY(read_replica(fields, spec.replica, spec.resources_named));
  SLIPWAY_TRY(read_scaling(fields, spec.scaling));
  SLIPWAY_TRY(fields.finish());
  if (auth) {
    SLIPWAY_ASSIGN(spec.auth, auth_from_text(*auth));
  }
  if (spec.description.size() > kLongestDescription)
    return fail(ErrorCode::kTooLarge, "the description is longer than 4096 characters");
  return check_replica(spec.replica);
}

json::object to_json(const ReplicaSpec& replica) {
  return {{"models", slipway::to_json(replica.models)},
          {"entry", replica.entry},
          {"snapshot", replica.snapshot},
          {"environment", replica.environment},
          {"environment_chosen", replica.environment_chosen},
          {"compute", replica.compute.str()},
          {"cpus", json_number(replica.resources.cpus)},
          {"memory_bytes", replica.resources.memory_bytes},
          {"gpus", replica.resources.gpus},
          {"variables", slipway::to_json(replica.variables)},
          {"timeout_seconds", seconds(replica.timeout)},
          {"workers", replica.workers}};
}

Result<ReplicaSpec> replica_spec_from_json(const json::object& object) {
  ReplicaSpec replica;
  bool named = false;
  JsonFields fields(object, "the version of a service");
  SLIPWAY_TRY(read_replica(fields, replica, named));
  SLIPWAY_TRY(fields.finish_lenient());
  return replica;
}

json::object to_json(const Scaling& scaling) {
  return {{"replicas", {{"min", scaling.min}, {"max", scaling.max}}},
          {"target_utilization", scaling.target_utilization},
          {"max_concurrent_requests", scaling.max_concurrent_requests},
          {"scale_down_seconds", seconds(scaling.down_after)}};
}

Result<Scaling> scaling_from_json(const json::object& object) {
  Scaling scaling;
  JsonFields fields(object, "the bounds of a service");
  SLIPWAY_TRY(read_scaling(fields, scaling));
  SLIPWAY_TRY(fields.finish_lenient());
  return scaling;
}

}  // namespace slipway::services

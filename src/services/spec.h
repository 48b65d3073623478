// What a user asks of a service. One document holds all of it; what its replicas run with stands apart,
// because a change there makes a new version of the service (a revision), loaded beside the old one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "protocol/job.h"

namespace slipway::services {

// Where replicas run unless another cluster is named: a cluster of their own, made when it is first needed,
// so that a run which wants a whole node of `local` does not wait for a service to be deleted.
constexpr std::string_view kServicesCluster = "services";

enum class Auth { kKey, kToken, kNone };
std::string_view to_text(Auth auth);  // "key"

// What every replica of a revision runs with.
struct ReplicaSpec {
  std::vector<std::string> models;  // NAME:VERSION, pinned when the revision is made
  std::string entry;                // a script of the source; empty: the model's framework decides
  std::string snapshot;             // the source's manifest; empty: none
  std::string environment;          // pinned; empty: as the framework needs
  bool environment_chosen = false;  // by Slipway, for these models
  ClusterName compute{std::string(kServicesCluster)};
  Resources resources{.cpus = 0.5, .memory_bytes = 512ULL << 20, .gpus = 0};
  std::map<std::string, std::string> variables;
  Duration timeout = std::chrono::seconds(60);  // of one request
  int workers = 1;                              // processes of a script or a scikit-learn model
  bool operator==(const ReplicaSpec&) const = default;
};

struct Scaling {
  int min = 1;
  int max = 1;
  // A replica is as busy as it should be at this share of the requests it may have under way.
  int target_utilization = 70;  // percent
  int max_concurrent_requests = 10;
  Duration down_after = std::chrono::seconds(60);  // of less load
  bool operator==(const Scaling&) const = default;
};

struct ServiceSpec {
  std::string description;
  std::map<std::string, std::string> tags;
  Auth auth = Auth::kKey;
  Scaling scaling;
  ReplicaSpec replica;
  bool resources_named = false;  // by the user, not by the model or a default
};

// 3 to 32 characters: a lower-case letter, then letters, digits and '-'.
Status check_service_name(std::string_view name);

// The fields of `object` that are there take the place of those in `spec`; every field is checked. Memory is
// in bytes, times in seconds, replicas is {"min", "max"}.
Status apply(const json::object& object, ServiceSpec& spec);

json::object to_json(const ReplicaSpec& replica);
Result<ReplicaSpec> replica_spec_from_json(const json::object& object);
json::object to_json(const Scaling& scaling);
Result<Scaling> scaling_from_json(const json::object& object);
Result<Auth> auth_from_text(std::string_view text);

}  // namespace slipway::services

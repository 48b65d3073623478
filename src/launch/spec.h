// The order of one supervisor: spec.json in the attempt's folder. It says which process to start and within
// what bounds, so that the supervisor knows nothing of runs, launchers or the server.
//
// The file is the intention: it is there, whole, before the supervisor is started. It is not synced: a power
// loss that takes it takes the processes too, and the server orders the attempt again. It holds the run's
// token (in the environment and in the order) and so is 0600.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "protocol/node.h"

namespace slipway::launch {

// The variable whose value, the spec's mark, every process of the attempt inherits: where there is no cgroup,
// processes that left the session are found by it.
constexpr std::string_view kMarkVariable = "SLIPWAY_MARK";

// Zero: no bound.
struct ProcessLimits {
  uint64_t memory_bytes = 0;
  double cpus = 0;
  int pids = 0;
  bool operator==(const ProcessLimits&) const = default;
};

struct SupervisorSpec {
  AttemptKey key;
  std::string mark;               // unique to the attempt; also stands in `environment`
  std::vector<std::string> argv;  // argv[0] is looked up in the environment's PATH, from `work`
  std::map<std::string, std::string> environment;  // all of it: the supervisor adds nothing
  std::string work;                                // absolute: the working folder, there before the start
  std::string socket;  // absolute, at most 107 bytes: the in-job socket; its folder is there
  ProcessLimits limits;
  Duration timeout{0};                        // of the running process; 0: none
  Duration grace = std::chrono::seconds(10);  // between SIGTERM and SIGKILL
  uint64_t log_quota_bytes = 0;               // of all log streams together; 0: none
  std::vector<int> gpu_indices;               // whose use is sampled
  bool operator==(const SupervisorSpec&) const = default;
};

// {"key": {run, attempt, rank}, "mark", "argv": [], "environment": {}, "work", "socket",
//  "limits": {"memory_bytes", "cpus", "pids"}, "timeout_seconds", "grace_seconds", "log_quota_bytes",
//  "gpu_indices": []}
json::object to_json(const SupervisorSpec& spec);
// Fields this program does not know are let pass: a newer agent may have written them.
Result<SupervisorSpec> supervisor_spec_from_json(const json::object& object);

// `folder`/spec.json: the spec, and the whole order below "order" for the agent that re-attaches.
Status write_spec(const std::filesystem::path& folder, const SupervisorSpec& spec, const AttemptOrder& order);
// kNotFound when there is none.
Result<SupervisorSpec> read_spec(const std::filesystem::path& folder);
Result<AttemptOrder> read_order(const std::filesystem::path& folder);

}  // namespace slipway::launch

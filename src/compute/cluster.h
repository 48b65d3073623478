// Clusters: a name, the size of a node, how many there may be and how long an idle one is kept.
//
// A size is stored as it was asked for and cut to the machine each time it is used, so that a home that moves
// to another machine goes on working and the warning is there for as long as it is true.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/secret.h"
#include "compute/engines/slurm/settings.h"
#include "compute/machine.h"
#include "protocol/node.h"

namespace slipway::compute {

struct ClusterKey {
  WorkspaceName workspace;
  ClusterName name;
  auto operator<=>(const ClusterKey&) const = default;
};

enum class Priority { kDedicated, kLow };
std::string_view priority_name(Priority priority);

// Where its nodes come from.
enum class EngineKind {
  kLocal,  // processes of the server's machine
  kSlurm,  // jobs of a Slurm cluster
};
std::string_view engine_name(EngineKind engine);

constexpr int kMostNodes = 1000;
constexpr int kAllGpus = -1;
constexpr std::string_view kLocalCluster = "local";

struct ClusterSpec {
  WorkspaceName workspace;
  ClusterName name;
  int min_nodes = 0;
  int max_nodes = 1;
  Duration idle = std::chrono::seconds(120);
  double cpus = 0;            // of one node; 0: the machine's
  uint64_t memory_bytes = 0;  // of one node; 0: the machine's
  int gpus = 0;               // of one node; kAllGpus: the machine's
  Priority priority = Priority::kDedicated;
  EngineKind engine = EngineKind::kLocal;
  SlurmSettings slurm = {};  // for kSlurm
  bool has_token = false;    // for kSlurm: a JWT is sealed beside it
  Timestamp created_at;

  ClusterKey key() const { return {workspace, name}; }
};

// Checks names and bounds. What the machine lacks is no error (see node_size).
Status check(const ClusterSpec& spec);

// The cluster every workspace has: the whole machine as one node. In the default workspace the node is kept
// warm.
ClusterSpec local_cluster(const WorkspaceName& workspace, Timestamp now);

struct NodeSize {
  NodeCapacity capacity;
  std::vector<std::string> warnings;  // sentences: what was cut, and what is shared
};
NodeSize node_size(const ClusterSpec& spec, const Machine& machine);

// A cluster as a request describes it. The token, for clusters of Slurm, is kept apart: it goes into the
// store sealed and comes out nowhere else.
struct ClusterRequest {
  ClusterSpec spec;
  std::optional<Secret> token;  // nullopt: as it was
};
// The body of POST .../compute. Workspace and creation time are the caller's.
Result<ClusterRequest> cluster_spec_from_json(const json::object& object);
// The body of PATCH .../compute/{cluster}: any of the limits and sizes, never the name nor the engine.
Result<ClusterRequest> patched(ClusterSpec spec, const json::object& object);

struct NodeCounts {
  int starting = 0;
  int idle = 0;
  int busy = 0;
  int draining = 0;
  int lost = 0;
};

json::object to_json(const ClusterSpec& spec, const NodeSize& size, const NodeCounts& nodes,
                     size_t queued_runs);

}  // namespace slipway::compute

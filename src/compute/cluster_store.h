// Clusters and nodes in the metadata store. Every function works inside the caller's transaction.
#pragma once

#include <vector>

#include "compute/cluster.h"
#include "store/database.h"

namespace slipway::compute {

// A node as it is remembered across restarts. What it is doing now is in the NodeRegistry.
struct NodeRecord {
  NodeId id;
  ClusterKey cluster;
  NodeCapacity capacity;
  std::vector<int> gpu_indices;  // of the machine; as many as capacity.gpus
  std::string address;           // as peers reach it; known once it has registered
  int pid = 0;                   // of its agent
  bool registered = false;
  bool draining = false;
  bool joined = false;  // a machine that came by itself: no engine starts or stops it
  Timestamp created_at;
};

// kConflict when the name is taken in that workspace.
Status insert_cluster(store::Writer& writer, const ClusterSpec& spec);
// kNotFound, with the names there are.
Result<ClusterSpec> find_cluster(store::Reader& reader, const ClusterKey& key);
// By name, after `after`, at most `limit`.
Result<std::vector<ClusterSpec>> list_clusters(store::Reader& reader, const WorkspaceName& workspace,
                                               std::string_view after = "", size_t limit = 1000);
// Of all workspaces: for the start of the server.
Result<std::vector<ClusterSpec>> all_clusters(store::Reader& reader);
Status update_cluster(store::Writer& writer, const ClusterSpec& spec);
// The JWT of a cluster of Slurm's, sealed; nullopt: it has none.
Status set_cluster_token(store::Writer& writer, const ClusterKey& key,
                         const std::optional<std::string>& sealed);
// Empty when it has none.
Result<std::string> sealed_cluster_token(store::Reader& reader, const ClusterKey& key);
// kConflict for `local`, which always exists. Its nodes may be there still: the caller lets them go.
Status delete_cluster(store::Writer& writer, const ClusterKey& key);
// All of a workspace that goes, `local` too. kConflict while one of them has nodes.
Status delete_clusters_of(store::Writer& writer, const WorkspaceName& workspace);

Status insert_node(store::Writer& writer, const NodeRecord& node);
// The agent's own word replaces what was planned. kNotFound: no such node.
Status set_node_registered(store::Writer& writer, const NodeId& node, const NodeCapacity& capacity,
                           const std::string& address, int pid, Timestamp now);
Status set_node_draining(store::Writer& writer, const NodeId& node);
// Harmless when it is not there.
Status delete_node(store::Writer& writer, const NodeId& node);
Result<std::vector<NodeRecord>> all_nodes(store::Reader& reader);

// A fresh id: "cpu-cluster-3f9a2k". 30 random bits: an id that is taken is a kConflict of insert_node, to be
// tried again.
NodeId new_node_id(const ClusterName& cluster);

}  // namespace slipway::compute

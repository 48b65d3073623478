// What the server knows about its nodes now: capacity, what is set aside on each and for whom, when each was
// last heard from. In memory; filled from the store at start and from the agents' registrations after that.
// Thread-safe.
//
// Invariants
//   1. What is free on a node is its capacity less what is set aside for its attempts, to the thousandth.
//   2. A node holds an attempt from `reserve`, which comes before its order is sent, until `release`. So
//      a draining node without attempts has nothing on its way to it.
//   3. Silence counts from the last message or from this server's start, whichever is later: after a
//      restart nothing is lost before one full grace.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "compute/autoscaler.h"
#include "compute/cluster_store.h"
#include "compute/scheduler.h"
#include "protocol/node.h"

namespace slipway::compute {

std::string_view node_state_name(NodeState state);

// A copy of one node's entry.
struct NodeInfo {
  NodeRecord record;
  NodeState state = NodeState::kStarting;
  Amount free;
  std::vector<AttemptKey> attempts;
  bool heard_since_start = false;  // of this server
  std::optional<Timestamp> last_seen_at;
};
json::object to_json(const NodeInfo& node);

class NodeRegistry {
 public:
  // A node takes new work only while it was heard from within `fresh`.
  explicit NodeRegistry(const Clock& clock, Duration fresh = std::chrono::seconds(15));
  ~NodeRegistry();

  // A node that is being started, or at the server's start one that is remembered. False: known already.
  bool add(NodeRecord node);
  void remove(const NodeId& node);
  // From its agent. The capacity replaces what was planned. kNotFound for a node that is not known: it is to
  // end. A node that was lost is taken back, without its attempts. `gpu_indices`: those it may use, where it
  // knows better than its engine.
  Status registered(const NodeId& node, const NodeCapacity& capacity, const std::string& address, int pid,
                    const std::vector<int>& gpu_indices = {});
  Status heard_from(const NodeId& node);

  // Sets the share aside; a repetition, and a key that is held already, change nothing. kNotFound: no such
  // node. Does not ask whether there is room: the scheduler has, and at the server's start the past is told,
  // not asked.
  Status reserve(const AttemptKey& key, const Grant& grant);
  // The node that held it; nullopt: nothing was held.
  std::optional<NodeId> release(const AttemptKey& key);

  void set_draining(const NodeId& node);
  void set_lost(const NodeId& node);
  // Nodes that were not heard from for so long and are not marked as lost. Starting ones do not count.
  std::vector<NodeId> silent_for(Duration time) const;

  std::optional<NodeInfo> find(const NodeId& node) const;
  std::vector<NodeInfo> list(const ClusterKey& cluster) const;  // by id
  std::vector<NodeInfo> list_all() const;
  NodeCounts counts(const ClusterKey& cluster) const;
  NodeCounts counts_all() const;
  size_t size() const;

  std::vector<NodeView> scheduler_view(const ClusterKey& cluster) const;
  // What the machines that joined the cluster have.
  std::vector<Amount> joined(const ClusterKey& cluster) const;
  // Without those that joined. `size`: of a node started now, to tell the outdated ones.
  std::vector<ScalerNode> scaler_view(const ClusterKey& cluster, const NodeCapacity& size) const;
  // The `count` GPUs of the machine that the fewest local nodes have, lowest index first.
  std::vector<int> least_used_gpus(const Machine& machine, int count) const;

 private:
  struct Entry;
  NodeInfo info_of(const Entry& entry) const;
  NodeView view_of(const Entry& entry, Monotonic now) const;

  const Clock& clock_;
  const Duration fresh_;
  mutable std::mutex mutex_;
  std::map<NodeId, std::unique_ptr<Entry>> nodes_;
  std::map<AttemptKey, NodeId> holders_;
};

}  // namespace slipway::compute

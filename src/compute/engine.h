// Where nodes come from. An engine answers four questions: start a node, stop a node, which nodes are there,
// and what does it cost to wait for one. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "compute/cluster.h"
#include "protocol/node.h"

namespace slipway::compute {

struct NodeOrder {
  NodeId node;
  ClusterKey cluster;
  NodeCapacity capacity;
  std::vector<int> gpu_indices;  // of the machine; as many as capacity.gpus
};

struct EngineNode {
  NodeId node;
  bool alive = false;
  int pid = 0;          // of its agent; 0 when it is not alive
  std::string problem;  // why it is not alive, for people; empty when it is
};

enum class NodeEventKind {
  kDied,  // its agent ended unasked; the engine starts it again, after a while when that happens often
  kGone,  // stopped, and nothing of it is left
};

struct NodeEvent {
  NodeEventKind kind;
  NodeId node;
  std::string reason;
  int deaths = 0;  // kDied: in a row, each within a short life
};
// Called on a thread of the engine; may call the engine.
using NodeEventSink = std::function<void(const NodeEvent&)>;

class Engine {
 public:
  virtual ~Engine() = default;
  // Returns when the node is on its way; it is there when it registers. After an error nothing of it is left,
  // and kGone follows. Repeating is harmless.
  virtual Status start_node(const NodeOrder& order) = 0;
  // Ends a node that is drained, lost or never came up; kGone follows. Repeating is harmless, also when it is
  // gone.
  virtual Status stop_node(const NodeId& node) = 0;
  virtual std::vector<EngineNode> nodes() = 0;
  // How long a node takes from start to registration, roughly.
  virtual Duration start_time() const = 0;
};

}  // namespace slipway::compute
